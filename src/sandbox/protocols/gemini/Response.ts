/**
 * The sandbox as a Gemini server: replies become candidates, plain or chunk by chunk. A signature is on the first
 * function call, and on an empty part after text that was reasoned about.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import {
  type ErrorReply,
  type SimulatedError,
  serverSentEvent,
  type SimulatedEvent,
  type SimulatedProtocol
} from "../../SimulatedProtocol.ts"
import { type SimulatedReply, totalPromptTokens } from "../../SimulatedReply.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"
import { readRequest, partSignature } from "./Request.ts"

const finishReasons = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY"
} as const satisfies Record<SimulatedReply["finishReason"], string>

/** A response with these parts. `written`: the tokens that the model has written by its end. */
const response = (
  request: SimulatedRequest,
  reply: SimulatedReply,
  parts: ReadonlyArray<JsonObject>,
  written: number
): JsonObject => {
  const { cacheRead } = reply.promptTokens
  const promptTokenCount = totalPromptTokens(reply.promptTokens)
  const thoughtsTokenCount = Math.min(written, reply.reasoning.length)
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
    modelVersion: request.model,
    responseId: reply.id
  }
}

const finished = (request: SimulatedRequest, reply: SimulatedReply, parts: ReadonlyArray<JsonObject>): JsonObject => ({
  ...response(request, reply, parts, reply.outputTokens),
  candidates: [{ content: { role: "model", parts }, finishReason: finishReasons[reply.finishReason], index: 0 }]
})

const callParts = ({ toolCalls }: SimulatedReply): ReadonlyArray<JsonObject> =>
  toolCalls.map((call, index) => {
    const functionCall = { name: call.name, args: JSON.parse(call.arguments) }
    return { functionCall, ...(index === 0 && { thoughtSignature: partSignature({ functionCall }) }) }
  })

/** The part that carries the signature of a text that was reasoned about. */
const signaturePart = (reply: SimulatedReply): ReadonlyArray<JsonObject> =>
  reply.reasoning.length > 0 && reply.text.length > 0
    ? [{ text: "", thoughtSignature: partSignature({ text: "" }) }]
    : []

const body = (request: SimulatedRequest, reply: SimulatedReply): JsonObject =>
  finished(request, reply, [
    ...(reply.reasoning.length === 0 ? [] : [{ text: reply.reasoning.join(""), thought: true }]),
    ...(reply.text.length === 0 ? [] : [{ text: reply.text.join("") }]),
    ...callParts(reply),
    ...signaturePart(reply)
  ])

const events = (request: SimulatedRequest, reply: SimulatedReply): ReadonlyArray<SimulatedEvent> => {
  let written = 0
  const token = (part: JsonObject): SimulatedEvent => ({
    frame: serverSentEvent(response(request, reply, [part], ++written)),
    isToken: true
  })
  return [
    { frame: serverSentEvent(response(request, reply, [], 0)), isToken: false },
    ...reply.reasoning.map((text) => token({ text, thought: true })),
    ...reply.text.map((text) => token({ text })),
    ...callParts(reply).map(token),
    { frame: serverSentEvent(finished(request, reply, signaturePart(reply))), isToken: false }
  ]
}

/** Google's names of HTTP statuses. */
const statusNames: { readonly [status: number]: string } = {
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
  error: SimulatedError
): { readonly code: number; readonly message: string; readonly details?: ReadonlyArray<JsonObject> } => {
  switch (error._tag) {
    case "Status":
      return { code: error.status, message: `The sandbox was asked for status ${error.status}.` }
    case "Invalid":
      return { code: 400, message: error.message }
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

const errorReply = (error: SimulatedError): ErrorReply => {
  const { code, ...rest } = errorOf(error)
  return { status: code, body: { error: { code, status: statusNames[code] ?? "UNKNOWN", ...rest } } }
}

export const simulatedProtocol: SimulatedProtocol = {
  basePath: "/gemini/v1beta",
  path: "/gemini/v1beta/models/:call",
  readRequest,
  body,
  events,
  error: errorReply,
  errorEvent: (error) => serverSentEvent(errorReply(error).body)
}
