/**
 * Reads a form as a transcription server would, as strictly as the strictest: a member too many, a format nobody asked
 * for or a file without a telling name is refused.
 */
import { Result } from "effect"

import { audioExtensions } from "../../../domain/Transcription.ts"
import type { Prompt } from "../../Prompt.ts"

const members = ["model", "file", "language", "prompt", "temperature", "response_format"]
/** What servers do not know that have a form of their own. By account. */
const unknown: { readonly [account: string]: ReadonlyArray<string> } = {
  mistral: ["prompt", "response_format"],
  openrouter: ["prompt"]
}

/** The prompt of a form, or what is wrong with it. */
export const read = (body: unknown, _target: string, account = ""): Result.Result<Prompt, string> => {
  if (!(body instanceof FormData))
    return Result.fail("Invalid request, make sure the request is formatted as a multipart/form-data request.")
  const file = body.get("file")
  if (!(file instanceof File)) return Result.fail("file: the file is required")
  const extension = extensionOf(file.name)
  const fault = faultOf(body, account) ?? faultOfFile(file, extension)
  if (fault !== undefined) return Result.fail(fault)
  const hint = textIn(body, "prompt") ?? ""
  return Result.succeed({
    model: textIn(body, "model") ?? "",
    stream: false,
    messages: 1,
    text: hint,
    breakpoints: [],
    lastUserText: hint,
    toolResult: undefined,
    images: 0,
    audios: 1,
    recording: { bytes: file.size, extension, language: textIn(body, "language"), account },
    tools: [],
    toolChoice: "none",
    parallelCalls: false,
    answerSchema: undefined,
    thinks: false,
    maxTokens: undefined,
    stop: []
  })
}

const textIn = (form: FormData, name: string): string | undefined => {
  const value = form.get(name)
  return typeof value === "string" ? value : undefined
}

const extensionOf = (name: string): string => name.slice(name.lastIndexOf(".") + 1)

const faultOf = (form: FormData, account: string): string | undefined => {
  const strange = [...form.keys()].find((name) => !members.includes(name) || unknown[account]?.includes(name))
  if (strange !== undefined) return `${strange}: Extra inputs are not permitted`
  const twice = members.find((name) => form.getAll(name).length > 1)
  if (twice !== undefined) return `${twice}: the member is there more than once`
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
