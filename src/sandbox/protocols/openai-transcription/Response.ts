/**
 * The sandbox as a transcription server of OpenAI or of a provider that copies its API. These differ in the usage that
 * they report (tokens, seconds or nothing), so the response is that of the provider that the API key names.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { SimulatedProtocol } from "../../SimulatedProtocol.ts"
import type { SimulatedReply } from "../../SimulatedReply.ts"
import { countTokens, type SimulatedRequest, type UploadedAudio } from "../../SimulatedRequest.ts"
import * as OpenAiChat from "../openai-chat/Response.ts"
import { readRequest } from "./Request.ts"

/** 100 ms of 16-bit audio at 16 kHz, which count as one token. */
const bytesPerToken = 3_200
const tokensPerSecond = 10
/** OpenAI's models that are billed by the duration of the audio. */
const billedByDuration = ["whisper-1", "gpt-transcribe"]

/** The usage of a transcription: tokens of audio, of the text prompt and of the output, and seconds of audio. */
interface TranscriptionUsage {
  readonly audio: number
  readonly text: number
  readonly output: number
  readonly seconds: number
}

/** The bodies of providers that differ from OpenAI, by account. */
const bodies: {
  readonly [account: string]: (
    text: string,
    usage: TranscriptionUsage,
    request: SimulatedRequest,
    reply: SimulatedReply
  ) => JsonObject
} = {
  groq: (text, _usage, _request, reply) => ({ text: ` ${text}`, x_groq: { id: `req_${reply.id}` } }),
  mistral: (text, { audio, output, seconds }, { model }) => ({
    model,
    text,
    language: null,
    segments: [],
    // Three tokens begin every prompt; those of the audio are not part of `prompt_tokens`.
    usage: {
      prompt_audio_seconds: seconds,
      prompt_tokens: 3,
      completion_tokens: output,
      total_tokens: 3 + audio + output,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: audio }
    }
  }),
  openrouter: (text, { audio, output }) => ({
    text,
    usage: { input_tokens: audio, output_tokens: output, total_tokens: audio + output }
  })
}

const openAiBody = (
  content: string,
  { audio, output, seconds, text }: TranscriptionUsage,
  { model }: SimulatedRequest
): JsonObject => ({
  text: content,
  usage: billedByDuration.includes(model)
    ? { type: "duration", seconds }
    : {
        type: "tokens",
        total_tokens: audio + text + output,
        input_tokens: audio + text,
        input_token_details: { text_tokens: text, audio_tokens: audio },
        output_tokens: output
      }
})

const usageOf = (
  { bytes }: Pick<UploadedAudio, "bytes">,
  { promptText }: SimulatedRequest,
  { outputTokens }: SimulatedReply
): TranscriptionUsage => {
  const audio = Math.ceil(bytes / bytesPerToken)
  return { audio, text: countTokens(promptText), output: outputTokens, seconds: Math.ceil(audio / tokensPerSecond) }
}

const body = (request: SimulatedRequest, reply: SimulatedReply): JsonObject => {
  const { account, bytes } = request.recording ?? { account: "", bytes: 0 }
  const bodyOf = bodies[account] ?? openAiBody
  return bodyOf(reply.text.join(""), usageOf({ bytes }, request, reply), request, reply)
}

export const simulatedProtocol: SimulatedProtocol = {
  ...OpenAiChat.simulatedProtocol,
  path: "/openai/v1/audio/transcriptions",
  readRequest,
  body
}
