/**
 * Reads requests as a Gemini server does. Signatures that the sandbox did not make are refused, and so are function
 * calls of Gemini 3 without one and results that do not match their calls, which reveals a gateway that loses or
 * reorders them.
 */
import { Option, Result, Schema } from "effect"

import { sandboxDigest } from "../../Digest.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"

const Record = Schema.Record(Schema.String, Schema.Unknown)
const Part = Schema.Struct({
  text: Schema.optional(Schema.String),
  thoughtSignature: Schema.optional(Schema.String),
  inlineData: Schema.optional(Schema.Struct({ mimeType: Schema.String, data: Schema.NonEmptyString })),
  functionCall: Schema.optional(Schema.Struct({ name: Schema.String, args: Schema.optional(Record) })),
  functionResponse: Schema.optional(Schema.Struct({ name: Schema.String, response: Record }))
})
type Part = typeof Part.Type
const Content = Schema.Struct({ role: Schema.Literals(["user", "model"]), parts: Schema.NonEmptyArray(Part) })
const Request = Schema.Struct({
  systemInstruction: Schema.optional(Schema.Struct({ parts: Schema.NonEmptyArray(Part) })),
  contents: Schema.NonEmptyArray(Content),
  tools: Schema.optional(
    Schema.Array(
      Schema.Struct({
        functionDeclarations: Schema.Array(
          Schema.Struct({ name: Schema.String, parametersJsonSchema: Schema.optional(Record) })
        )
      })
    )
  ),
  toolConfig: Schema.optional(
    Schema.Struct({
      functionCallingConfig: Schema.Struct({
        mode: Schema.Literals(["AUTO", "ANY", "NONE"]),
        allowedFunctionNames: Schema.optional(Schema.Array(Schema.String))
      })
    })
  ),
  generationConfig: Schema.optional(
    Schema.Struct({
      maxOutputTokens: Schema.optional(Schema.Finite),
      stopSequences: Schema.optional(Schema.Array(Schema.String).check(Schema.isMaxLength(5))),
      responseMimeType: Schema.optional(Schema.String),
      responseJsonSchema: Schema.optional(Record),
      thinkingConfig: Schema.optional(
        Schema.Struct({
          includeThoughts: Schema.optional(Schema.Boolean),
          thinkingBudget: Schema.optional(Schema.Finite),
          thinkingLevel: Schema.optional(Schema.Literals(["MINIMAL", "LOW", "MEDIUM", "HIGH"]))
        })
      )
    })
  )
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownOption(Request)

const generateTarget = /\/models\/([^/?]+):(generateContent|streamGenerateContent\?alt=sse)$/

/**
 * The request of a body, or the message of the error that refuses it. The model, and whether to stream, are in the
 * path.
 */
export const readRequest = (body: unknown, target: string): Result.Result<SimulatedRequest, string> => {
  const [, model = "", method] = generateTarget.exec(target) ?? []
  if (method === undefined) return Result.fail("The sandbox generates content, plain or as a stream with alt=sse.")
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("Invalid JSON payload received. It is not a generateContent request.")
  const fault = faultOf(request, isGemini3OrLater(model))
  if (fault !== undefined) return Result.fail(fault)
  const { contents, generationConfig: config = {}, systemInstruction, tools = [] } = request
  const functions = tools.flatMap(({ functionDeclarations }) => functionDeclarations)
  const media = contents.flatMap(({ parts }) => parts.flatMap(({ inlineData }) => inlineData?.mimeType ?? []))
  const response = contents.at(-1)?.parts.findLast((part) => part.functionResponse !== undefined)?.functionResponse
  const thinking = config.thinkingConfig
  return Result.succeed({
    model,
    stream: method !== "generateContent",
    messageCount: contents.length,
    promptText: JSON.stringify([systemInstruction, tools, contents]),
    cacheBreakpoints: [],
    lastUserText: textOf(contents.findLast(isUserMessage)?.parts ?? []),
    toolResult: response === undefined ? undefined : resultOf(response.response),
    imageCount: media.filter((type) => type.startsWith("image/")).length,
    audioCount: media.filter((type) => type.startsWith("audio/")).length,
    tools: functions.map(({ name, parametersJsonSchema }) => ({ name, schema: parametersJsonSchema ?? {} })),
    toolChoice: choiceOf(request),
    parallelToolCalls: true,
    responseSchema: config.responseMimeType === "application/json" ? (config.responseJsonSchema ?? {}) : undefined,
    reasons: thinking?.includeThoughts === true && thinking.thinkingBudget !== 0,
    maxTokens: config.maxOutputTokens,
    stopSequences: config.stopSequences ?? []
  })
}

const textOf = (parts: ReadonlyArray<Part>): string => parts.map(({ text }) => text ?? "").join("")

/** True for a message of the user. The results of tools have the same role and belong to the message before them. */
const isUserMessage = ({ parts, role }: typeof Content.Type): boolean =>
  role === "user" && parts.some(({ text }) => text !== undefined)

const resultOf = (response: typeof Record.Type): string =>
  typeof response["output"] === "string" ? response["output"] : JSON.stringify(response)

const choiceOf = ({ toolConfig }: Request): SimulatedRequest["toolChoice"] => {
  const { allowedFunctionNames: names = [], mode = "AUTO" } = toolConfig?.functionCallingConfig ?? {}
  if (mode !== "ANY") return mode === "NONE" ? "none" : "auto"
  return names[0] === undefined ? "required" : { name: names[0] }
}

const isGemini3OrLater = (model: string): boolean => /^gemini-(?:[3-9]|\d\d)/.test(model)

/** The message for a request that the real server would refuse, for the faults that a gateway is likely to make. */
const faultOf = (request: Request, isGemini3: boolean): string | undefined => {
  const { contents, generationConfig: config, tools = [] } = request
  const thinking = config?.thinkingConfig
  if (thinking?.thinkingBudget !== undefined && thinking.thinkingLevel !== undefined)
    return "You can only set only one of thinking budget and thinking level."
  if (tools.length > 1) return "Multiple tools are not supported: put all functions into one."
  if (!isGemini3 && tools.length > 0 && config?.responseMimeType === "application/json")
    return "Function calling with a response mime type: 'application/json' is unsupported"
  const lastUserMessage = contents.findLastIndex(isUserMessage)
  for (const [index, { parts, role }] of contents.entries()) {
    if (parts.some((part) => part.text === "" && part.thoughtSignature === undefined))
      return `contents[${index}].parts: required oneof field 'data' must have one initialized field`
    if (parts.some(isForged)) return "Corrupted thought signature."
    const calls = role === "model" ? namesIn(parts, "functionCall") : []
    const answers = namesIn(contents[index + 1]?.parts ?? [], "functionResponse")
    if (calls.length > 0 && calls.join() !== answers.join())
      return "The number of function response parts must equal the number of function call parts of the call turn."
    const first = parts.find(({ functionCall }) => functionCall !== undefined)
    if (isGemini3 && index > lastUserMessage && first !== undefined && first.thoughtSignature === undefined)
      return "Function call is missing a thought_signature in functionCall parts."
  }
  return undefined
}

const namesIn = (parts: ReadonlyArray<Part>, kind: "functionCall" | "functionResponse"): ReadonlyArray<string> =>
  parts.flatMap((part) => part[kind]?.name ?? [])

const isForged = (part: Part): boolean =>
  part.thoughtSignature !== undefined &&
  part.thoughtSignature !== "skip_thought_signature_validator" &&
  part.thoughtSignature !== partSignature(part)

/** The signature of a part, which depends on its content alone. */
export const partSignature = ({ functionCall, text }: Pick<Part, "functionCall" | "text">): string =>
  sandboxDigest(JSON.stringify([text, functionCall?.name, functionCall?.args]), 48)
