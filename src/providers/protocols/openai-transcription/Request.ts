/**
 * A transcription as a form with the recording. The answer is always requested as JSON, whatever the client wants,
 * because only that form reports usage.
 */
import type { AudioExtension } from "../../../domain/Transcription.ts"
import type { TranscriptionWireCall, WireRequest } from "../Protocol.ts"
import { dialects } from "../shared/Dialects.ts"
import type { FormFields, RequestBody } from "./Body.ts"

const mediaTypes = {
  flac: "audio/flac",
  mp3: "audio/mpeg",
  mp4: "audio/mp4",
  mpeg: "audio/mpeg",
  mpga: "audio/mpeg",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  wav: "audio/wav",
  webm: "audio/webm"
} as const satisfies Record<AudioExtension, string>

/**
 * Providers recognise the format by the extension alone, so the rest of the client's file name, which may be private,
 * is not sent. A temperature of 0 is every server's default; it is left out for servers that know no other.
 */
export const encode = ({ dialect, request, upstream }: TranscriptionWireCall): WireRequest<RequestBody> => {
  const { file, language, prompt, temperature } = request
  const values = {
    language,
    prompt,
    temperature: temperature === 0 ? undefined : String(temperature),
    response_format: "json"
  }
  const fields: { -readonly [Name in keyof FormFields]: FormFields[Name] } = { model: upstream }
  for (const name of dialects[dialect].transcription) {
    const value = values[name]
    if (value) fields[name] = value
  }
  const { bytes, extension } = file
  return {
    path: "/audio/transcriptions",
    headers: {},
    body: { fields, file: { field: "file", name: `audio.${extension}`, media: mediaTypes[extension], bytes } }
  }
}
