/**
 * Reads forms as the strictest transcription server does: an unknown field, a format other than JSON, and a file whose
 * name has no known extension are refused.
 */
import { Result } from "effect"

import { audioExtensions } from "../../../domain/Transcription.ts"
import { noConversation, type SimulatedRequest } from "../../SimulatedRequest.ts"

const fields = ["model", "file", "language", "prompt", "temperature", "response_format"]
/** The fields that a provider with a form of its own does not know, by account. */
const unknownFields: { readonly [account: string]: ReadonlyArray<string> } = {
  mistral: ["prompt", "response_format"],
  openrouter: ["prompt"]
}

/** The request of a form, or the message of the error that refuses it. */
export const readRequest = (body: unknown, _target: string, account = ""): Result.Result<SimulatedRequest, string> => {
  if (!(body instanceof FormData))
    return Result.fail("Invalid request, make sure the request is formatted as a multipart/form-data request.")
  const file = body.get("file")
  if (!(file instanceof File)) return Result.fail("file: the file is required")
  const extension = extensionOf(file.name)
  const fault = faultOf(body, account) ?? faultOfFile(file, extension)
  if (fault !== undefined) return Result.fail(fault)
  const prompt = textIn(body, "prompt") ?? ""
  return Result.succeed({
    ...noConversation,
    model: textIn(body, "model") ?? "",
    messageCount: 1,
    promptText: prompt,
    lastUserText: prompt,
    audioCount: 1,
    recording: { bytes: file.size, extension, language: textIn(body, "language"), account }
  })
}

const textIn = (form: FormData, name: string): string | undefined => {
  const value = form.get(name)
  return typeof value === "string" ? value : undefined
}

const extensionOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

const faultOf = (form: FormData, account: string): string | undefined => {
  const surplus = [...form.keys()].find((name) => !fields.includes(name) || unknownFields[account]?.includes(name))
  if (surplus !== undefined) return `${surplus}: Extra inputs are not permitted`
  const repeated = fields.find((name) => form.getAll(name).length > 1)
  if (repeated !== undefined) return `${repeated}: the field is there more than once`
  if (!textIn(form, "model")) return "you must provide a model parameter"
  const format = textIn(form, "response_format") ?? "json"
  if (format !== "json") return `response_format '${format}' is not compatible with this model. Use 'json' instead.`
  const temperature = Number(textIn(form, "temperature") ?? 0)
  if (!(temperature >= 0 && temperature <= 1)) return "temperature: must be a number from 0 to 1"
  return /^[a-z]{2}$/.test(textIn(form, "language") ?? "en") ? undefined : "Invalid language. It must be in ISO-639-1."
}

const faultOfFile = ({ size, type }: File, extension: string): string | undefined => {
  if (!audioExtensions.some((known) => known === extension))
    return `Invalid file format. Supported formats: ${JSON.stringify(audioExtensions)}`
  if (!type.startsWith("audio/")) return `file: the part says that it is of type ${type}`
  return size > 0 ? undefined : "Audio file is too short. Minimum audio length is 0.1 seconds."
}
