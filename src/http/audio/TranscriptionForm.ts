/**
 * Reads the form of a transcription: its fields with their defaults and limits, and the labels with their precedence.
 * There are three steps, because the contract orders its errors and the model is looked up between the first two.
 *
 * An empty `language` or `prompt` means the same as none; every other field must not be empty.
 */
import { Result } from "effect"

import {
  FileTooLarge,
  InvalidCallName,
  InvalidEndUserId,
  InvalidFileFormat,
  InvalidRequest,
  UnsupportedResponseFormat
} from "../../api/Errors.ts"
import type { JsonObject } from "../../domain/JsonObject.ts"
import { type AudioExtension, audioExtensions, type AudioFile, isLanguageCode } from "../../domain/Transcription.ts"
import { parseJsonObject } from "../edge/JsonBody.ts"
import { isLabel, labelRule, maxCallNameLength, maxEndUserIdLength } from "../edge/RequestLabels.ts"
import { type UploadedForm, maxFormBytes, type FormPart, type PartLimit } from "./UploadForm.ts"

/** 25 MiB, which is what the providers mean by their limit of 25 MB. */
export const maxFileBytes = 25 * 1024 * 1024
/** The limit in bytes on every field but the file. */
export const maxTextBytes = 64 * 1024

const textFields = [
  "model",
  "language",
  "prompt",
  "temperature",
  "response_format",
  "stream",
  "call_name",
  "metadata"
] as const
type TextField = (typeof textFields)[number]

/** A form whose fields are valid in themselves. The model and the response format have yet to be checked. */
export interface TranscriptionForm {
  readonly file: AudioFile
  readonly model: string | undefined
  /** An ISO 639-1 code in lower case. */
  readonly language: string | undefined
  readonly prompt: string | undefined
  readonly temperature: number
  readonly responseFormat: string | undefined
  readonly stream: boolean
  /** The objects that may hold labels, in order of precedence. */
  readonly containers: ReadonlyArray<{ readonly name: string; readonly values: JsonObject }>
  readonly callName: string | undefined
}

/** How many bytes of each part to keep: none of a file that will be refused because of its name. */
export const partLimitFor =
  (serviceName: string): PartLimit =>
  (name, filename) => {
    if (name === "file") return filename !== undefined && extensionOf(filename) !== undefined ? maxFileBytes : 0
    return name === serviceName || isTextField(name) ? maxTextBytes : undefined
  }

const isTextField = (name: string): name is TextField => textFields.some((known) => known === name)

/** The form, or the first of the contract's errors that can be found without looking up the model. */
export const readTranscriptionForm = (
  form: UploadedForm,
  serviceName: string
): Result.Result<TranscriptionForm, InvalidRequest | InvalidFileFormat | FileTooLarge> =>
  Result.gen(function* () {
    const part = yield* filePart(form)
    const texts = yield* readTexts(form, serviceName)
    const containers: Array<TranscriptionForm["containers"][number]> = []
    for (const name of [serviceName, "metadata"]) {
      const text = texts.get(name)
      if (text !== undefined) containers.push({ name, values: yield* jsonObject(name, text) })
    }
    const language = yield* readLanguage(texts.get("language"))
    const temperature = yield* readTemperature(texts.get("temperature"))
    const stream = yield* readStream(texts.get("stream"))
    const file = yield* readFile(part)
    return {
      file,
      model: texts.get("model"),
      language,
      prompt: texts.get("prompt") || undefined,
      temperature,
      responseFormat: texts.get("response_format"),
      stream,
      containers,
      callName: texts.get("call_name")
    }
  })

/** `events`: server-sent events. */
export type TranscriptionFormat = "json" | "text" | "events"

/** The format of the answer; `json` unless the form names another. A stream has events, whatever the format. */
export const formatOf = ({ responseFormat = "json", stream }: TranscriptionForm) =>
  responseFormat === "json" || responseFormat === "text"
    ? Result.succeed<TranscriptionFormat>(stream ? "events" : responseFormat)
    : Result.fail(UnsupportedResponseFormat.of("response_format must be json or text"))

/** The labels of a request, which are stored in its receipt. */
export interface Labels {
  readonly callName: string | undefined
  readonly endUserId: string | undefined
}

/** The labels of a request. The first container that has a label's key decides, even when the value is not allowed. */
export const labelsOf = (form: TranscriptionForm): Result.Result<Labels, InvalidCallName | InvalidEndUserId> =>
  Result.gen(function* () {
    const callName = findLabel(form, "call_name") ?? { path: "call_name", value: form.callName }
    const endUserId = findLabel(form, "end_user_id")
    return {
      callName: yield* checkLabel(callName, maxCallNameLength, InvalidCallName.of),
      endUserId: yield* checkLabel(endUserId, maxEndUserIdLength, InvalidEndUserId.of)
    }
  })

interface FoundLabel {
  /** Where in the request it was found, such as `metadata.call_name`. */
  readonly path: string
  readonly value: unknown
}

const findLabel = ({ containers }: TranscriptionForm, key: string): FoundLabel | undefined => {
  const container = containers.find(({ values }) => Object.hasOwn(values, key))
  return container && { path: `${container.name}.${key}`, value: container.values[key] }
}

const checkLabel = <E>(label: FoundLabel | undefined, maxLength: number, makeError: (message: string) => E) => {
  if (label?.value === undefined) return Result.succeed(undefined)
  return isLabel(label.value, maxLength)
    ? Result.succeed(label.value)
    : Result.fail(makeError(labelRule(label.path, maxLength)))
}

const invalid = (message: string) => Result.fail(InvalidRequest.of(message))

const filePart = ({ complete, parts }: UploadedForm): Result.Result<FormPart, InvalidRequest> => {
  const file = parts.get("file")
  // A file that is too large also exceeds the form's limit; its own error is reported later.
  if (!complete && !(file !== undefined && file.size > maxFileBytes)) {
    return invalid(`The form must have at most ${maxFormBytes} bytes`)
  }
  if (file === undefined) return invalid("file is missing: send the audio as a file")
  if (file.filename === undefined || file.filename === "") {
    return invalid("file must have a filename: its extension tells the format")
  }
  if (file.size === 0) return invalid("file is empty")
  if (file.times > 1) return invalid("file must be given once")
  return Result.succeed(file)
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const readTexts = ({ parts }: UploadedForm, serviceName: string) =>
  Result.gen(function* () {
    const texts = new Map<string, string>()
    for (const name of [serviceName, ...textFields]) {
      const part = parts.get(name)
      if (part === undefined) continue
      if (part.times > 1) return yield* invalid(`${name} must be given once`)
      if (part.size > maxTextBytes) return yield* invalid(`${name} must have at most ${maxTextBytes} bytes`)
      const text = Result.try({
        try: () => utf8.decode(part.bytes),
        catch: () => InvalidRequest.of(`${name} is not valid UTF-8`)
      })
      texts.set(name, yield* text)
    }
    return texts
  })

const jsonObject = (name: string, text: string): Result.Result<JsonObject, InvalidRequest> =>
  Result.mapError(parseJsonObject(text, name), ({ message }) => InvalidRequest.of(message))

const readLanguage = (text: string | undefined): Result.Result<string | undefined, InvalidRequest> => {
  const code = text?.toLowerCase() || undefined
  return code === undefined || isLanguageCode(code)
    ? Result.succeed(code)
    : invalid("language must be an ISO 639-1 code such as en")
}

/** A number in the notation of JSON, such as `0.2` or `1e-7`. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

const readTemperature = (text = "0"): Result.Result<number, InvalidRequest> => {
  const value = jsonNumber.test(text) ? Number(text) : Number.NaN
  // Adding zero turns -0 into 0.
  return value >= 0 && value <= 1
    ? Result.succeed(value + 0)
    : invalid("temperature must be a number from 0 to 1, such as 0.2")
}

/** SDKs write booleans in lower case; Python's own notation, `True`, is meant the same way. */
const readStream = (text = "false"): Result.Result<boolean, InvalidRequest> => {
  const value = text.toLowerCase()
  return value === "true" || value === "false"
    ? Result.succeed(value === "true")
    : invalid("stream must be true or false")
}

/** The supported extension of a file name, in lower case. */
const extensionOf = (filename: string): AudioExtension | undefined => {
  const dot = filename.lastIndexOf(".")
  const extension = dot === -1 ? undefined : filename.slice(dot + 1).toLowerCase()
  return audioExtensions.find((known) => known === extension)
}

const readFile = ({ bytes, filename = "", size }: FormPart) => {
  const extension = extensionOf(filename)
  if (extension === undefined) {
    return Result.fail(InvalidFileFormat.of(`file must have the extension ${audioExtensions.join(", ")}`))
  }
  if (size > maxFileBytes) return Result.fail(FileTooLarge.of(`file must have at most ${maxFileBytes} bytes`))
  return Result.succeed<AudioFile>({ name: baseName(filename), extension, bytes })
}

/**
 * The name without what some clients add to it: the directory of the file and escaped quotes. Control characters, which
 * only a percent-encoded name can contain, would end the header that carries the name to a provider.
 */
const baseName = (filename: string): string =>
  filename
    .replaceAll('\\"', '"')
    .replace(/^.*[/\\]/s, "")
    .replaceAll(/\p{Cc}/gu, "")
