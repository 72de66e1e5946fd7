/** The sandbox as a Gemini server. Signatures come on the first call, and after thought-out text on an empty part. */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { Prompt, Reply } from "../../Prompt.ts"
import { type SimulatedError, frame, type StreamPiece, type SimulatedProtocol } from "../../Wire.ts"
import { read, signatureOf } from "./Request.ts"

const finishReasons = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY"
} as const satisfies Record<Reply["finish"], string>

/** A response with these parts, after which the model has written so many tokens. */
const response = (prompt: Prompt, reply: Reply, parts: ReadonlyArray<JsonObject>, written: number): JsonObject => {
  const { cacheRead, cacheWrite1h, cacheWrite5m, fresh } = reply.promptTokens
  const promptTokenCount = fresh + cacheRead + cacheWrite5m + cacheWrite1h
  const thoughtsTokenCount = Math.min(written, reply.thinking.length)
  return {
    candidates: [{ content: { role: "model", parts }, index: 0 }],
    usageMetadata: {
      promptTokenCount,
      ...(cacheRead > 0 && { cachedContentTokenCount: cacheRead }),
      ...(written > thoughtsTokenCount && { candidatesTokenCount: written - thoughtsTokenCount }),
      ...(thoughtsTokenCount > 0 && { thoughtsTokenCount }),
      totalTokenCount: promptTokenCount + written,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: promptTokenCount }]
    },
    modelVersion: prompt.model,
    responseId: reply.id
  }
}

const finished = (prompt: Prompt, reply: Reply, parts: ReadonlyArray<JsonObject>): JsonObject => ({
  ...response(prompt, reply, parts, reply.outputTokens),
  candidates: [{ content: { role: "model", parts }, finishReason: finishReasons[reply.finish], index: 0 }]
})

const callParts = ({ calls }: Reply): ReadonlyArray<JsonObject> =>
  calls.map((call, index) => {
    const functionCall = { name: call.name, args: JSON.parse(call.arguments) }
    return { functionCall, ...(index === 0 && { thoughtSignature: signatureOf({ functionCall }) }) }
  })

const closing = (reply: Reply): ReadonlyArray<JsonObject> =>
  reply.thinking.length > 0 && reply.text.length > 0 ? [{ text: "", thoughtSignature: signatureOf({ text: "" }) }] : []

const answer = (prompt: Prompt, reply: Reply): JsonObject =>
  finished(prompt, reply, [
    ...(reply.thinking.length === 0 ? [] : [{ text: reply.thinking.join(""), thought: true }]),
    ...(reply.text.length === 0 ? [] : [{ text: reply.text.join("") }]),
    ...callParts(reply),
    ...closing(reply)
  ])

const pieces = (prompt: Prompt, reply: Reply): ReadonlyArray<StreamPiece> => {
  let written = 0
  const token = (part: JsonObject): StreamPiece => ({
    frame: frame(response(prompt, reply, [part], ++written)),
    isToken: true
  })
  return [
    { frame: frame(response(prompt, reply, [], 0)), isToken: false },
    ...reply.thinking.map((text) => token({ text, thought: true })),
    ...reply.text.map((text) => token({ text })),
    ...callParts(reply).map(token),
    { frame: frame(finished(prompt, reply, closing(reply))), isToken: false }
  ]
}

const names: { readonly [status: number]: string } = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED"
}

const errorOf = (
  complaint: SimulatedError
): { readonly code: number; readonly message: string; readonly details?: ReadonlyArray<JsonObject> } => {
  switch (complaint._tag) {
    case "Status":
      return { code: complaint.status, message: `The sandbox was asked for status ${complaint.status}.` }
    case "Invalid":
      return { code: 400, message: complaint.message }
    case "Overloaded":
      return { code: 503, message: "The model is overloaded. Please try again later." }
    case "Quota":
      return {
        code: 429,
        message: "You exceeded your current quota, please check your plan and billing details.",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel" }]
          },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "7s" }
        ]
      }
    case "Context":
      return { code: 400, message: "The input token count (2) exceeds the maximum number of tokens allowed (1)." }
  }
}

const complain = (complaint: SimulatedError): { readonly status: number; readonly body: JsonObject } => {
  const { code, ...rest } = errorOf(complaint)
  return { status: code, body: { error: { code, status: names[code] ?? "UNKNOWN", ...rest } } }
}

export const geminiWire: SimulatedProtocol = {
  base: "/gemini/v1beta",
  path: "/gemini/v1beta/models/:call",
  read,
  answer,
  pieces,
  complain,
  complainInStream: (complaint) => frame(complain(complaint).body)
}
