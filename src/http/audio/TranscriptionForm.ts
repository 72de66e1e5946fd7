/**
 * What the form of a transcription says: its fields, their defaults and limits, and the labels with their precedence.
 * Three steps, because the contract's errors come in an order and the model is looked up between the first two.
 *
 * An empty `language` or `prompt` says nothing; an empty value of any other field is a value that is not allowed.
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
import { isLanguageCode } from "../../domain/Language.ts"
import { type AudioExtension, audioExtensions, type AudioFile } from "../../domain/Transcription.ts"
import * as JsonBody from "../edge/JsonBody.ts"
import { isLabel, labelRule, maxCallNameLength, maxEndUserIdLength } from "../edge/Labels.ts"
import { type UploadedForm, maxFormBytes, type FormPart, type PartLimit } from "./UploadForm.ts"

/** 25 MB, as the providers that set this limit count them. */
export const maxFileBytes = 25 * 1024 * 1024
/** Bytes of any field but the file. */
export const maxTextBytes = 64 * 1024

const textFields = ["model", "language", "prompt", "temperature", "response_format", "call_name", "metadata"] as const
type TextField = (typeof textFields)[number]

type JsonObject = { readonly [key: string]: unknown }

/** A form without a fault of its own; what it asks for may still not exist. */
export interface TranscriptionForm {
  readonly file: AudioFile
  readonly model: string | undefined
  /** In lower case. */
  readonly language: string | undefined
  readonly prompt: string | undefined
  readonly temperature: number
  readonly responseFormat: string | undefined
  /** Where labels are looked for, the preferred container first. */
  readonly containers: ReadonlyArray<{ readonly name: string; readonly values: JsonObject }>
  readonly callName: string | undefined
}

/** What to keep of an upload: nothing of a file that will be refused for its name. */
export const partLimitFor =
  (serviceName: string): PartLimit =>
  (name, filename) => {
    if (name === "file") return filename !== undefined && extensionOf(filename) !== undefined ? maxFileBytes : 0
    return name === serviceName || isTextField(name) ? maxTextBytes : undefined
  }

const isTextField = (name: string): name is TextField => textFields.some((known) => known === name)

/** The first of the contract's errors that need nothing but the form. */
export const readTranscriptionForm = (
  form: UploadedForm,
  serviceName: string
): Result.Result<TranscriptionForm, InvalidRequest | InvalidFileFormat | FileTooLarge> =>
  Result.gen(function* () {
    const part = yield* filePart(form)
    const texts = yield* textsOf(form, serviceName)
    const containers: Array<TranscriptionForm["containers"][number]> = []
    for (const name of [serviceName, "metadata"]) {
      const text = texts.get(name)
      if (text !== undefined) containers.push({ name, values: yield* objectIn(name, text) })
    }
    const language = yield* languageIn(texts.get("language"))
    const temperature = yield* temperatureIn(texts.get("temperature"))
    const file = yield* audioFile(part)
    return {
      file,
      model: texts.get("model"),
      language,
      prompt: texts.get("prompt") || undefined,
      temperature,
      responseFormat: texts.get("response_format"),
      containers,
      callName: texts.get("call_name")
    }
  })

export type TranscriptionFormat = "json" | "text"

/** How to answer. */
export const formatOf = ({ responseFormat = "json" }: TranscriptionForm) =>
  responseFormat === "json" || responseFormat === "text"
    ? Result.succeed<TranscriptionFormat>(responseFormat)
    : Result.fail(UnsupportedResponseFormat.of("response_format must be json or text"))

export interface Labels {
  readonly callName: string | undefined
  readonly endUserId: string | undefined
}

/** The first container that has a key decides, also when its value is not allowed. */
export const labelsOf = (form: TranscriptionForm): Result.Result<Labels, InvalidCallName | InvalidEndUserId> =>
  Result.gen(function* () {
    const callName = found(form, "call_name") ?? { path: "call_name", value: form.callName }
    const endUserId = found(form, "end_user_id")
    return {
      callName: yield* label(callName, maxCallNameLength, InvalidCallName.of),
      endUserId: yield* label(endUserId, maxEndUserIdLength, InvalidEndUserId.of)
    }
  })

interface Found {
  readonly path: string
  readonly value: unknown
}

const found = ({ containers }: TranscriptionForm, key: string): Found | undefined => {
  const container = containers.find(({ values }) => Object.hasOwn(values, key))
  return container && { path: `${container.name}.${key}`, value: container.values[key] }
}

const label = <E>(given: Found | undefined, maxLength: number, refuse: (message: string) => E) => {
  if (given?.value === undefined) return Result.succeed(undefined)
  return isLabel(given.value, maxLength)
    ? Result.succeed(given.value)
    : Result.fail(refuse(labelRule(given.path, maxLength)))
}

const invalid = (message: string) => Result.fail(InvalidRequest.of(message))

const filePart = ({ complete, parts }: UploadedForm): Result.Result<FormPart, InvalidRequest> => {
  const file = parts.get("file")
  // An audio file that is too large has an error of its own.
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

const textsOf = ({ parts }: UploadedForm, serviceName: string) =>
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

const objectIn = (name: string, text: string): Result.Result<JsonObject, InvalidRequest> => {
  const parsed = JsonBody.parseJsonBody(text, name)
  if (Result.isFailure(parsed)) return invalid(parsed.failure.message)
  const value = parsed.success
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? // A non-null object that is no array.
      Result.succeed(value as JsonObject)
    : invalid(`${name} must be a JSON object`)
}

const languageIn = (text: string | undefined): Result.Result<string | undefined, InvalidRequest> => {
  const code = text?.toLowerCase() || undefined
  return code === undefined || isLanguageCode(code)
    ? Result.succeed(code)
    : invalid("language must be an ISO 639-1 code such as en")
}

/** A number as programs write it, which may be `1e-7`. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

const temperatureIn = (text = "0"): Result.Result<number, InvalidRequest> => {
  const value = jsonNumber.test(text) ? Number(text) : Number.NaN
  // The sum makes a zero of a negative zero.
  return value >= 0 && value <= 1
    ? Result.succeed(value + 0)
    : invalid("temperature must be a number from 0 to 1, such as 0.2")
}

/** The extension that counts, whatever its case. */
const extensionOf = (filename: string): AudioExtension | undefined => {
  const dot = filename.lastIndexOf(".")
  const extension = dot === -1 ? undefined : filename.slice(dot + 1).toLowerCase()
  return audioExtensions.find((known) => known === extension)
}

const audioFile = ({ bytes, filename = "", size }: FormPart) => {
  const extension = extensionOf(filename)
  if (extension === undefined) {
    return Result.fail(InvalidFileFormat.of(`file must have the extension ${audioExtensions.join(", ")}`))
  }
  if (size > maxFileBytes) return Result.fail(FileTooLarge.of(`file must have at most ${maxFileBytes} bytes`))
  return Result.succeed<AudioFile>({ name: baseName(filename), extension, bytes })
}

/**
 * The name without what some clients put into it: the path on their disk, quotes in disguise. Control characters, which
 * only an encoded name can have, would end the header that takes it to a provider.
 */
const baseName = (filename: string): string =>
  filename
    .replaceAll('\\"', '"')
    .replace(/^.*[/\\]/s, "")
    .replaceAll(/\p{Cc}/gu, "")
