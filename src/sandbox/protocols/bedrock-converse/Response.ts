/**
 * The sandbox as a server of Bedrock's Converse API: replies become Converse responses, or the binary messages of an
 * AWS event stream in place of server-sent events.
 */
import { EventStreamCodec } from "@smithy/eventstream-codec"

import type { JsonObject } from "../../../domain/JsonObject.ts"
import { thinkingSignature } from "../../Digest.ts"
import {
  type ErrorReply,
  type SimulatedError,
  halves,
  type SimulatedEvent,
  type SimulatedProtocol
} from "../../SimulatedProtocol.ts"
import type { SimulatedReply } from "../../SimulatedReply.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"
import { readRequest } from "./Request.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
  (text) => encoder.encode(text)
)

/** One message of an AWS event stream. */
export const eventMessage = (kind: "event" | "exception", type: string, payload: JsonObject): Uint8Array =>
  codec.encode({
    headers: {
      [`:${kind}-type`]: { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" },
      ":message-type": { type: "string", value: kind }
    },
    body: encoder.encode(JSON.stringify(payload))
  })

const usageOf = ({ outputTokens, promptTokens: tokens }: SimulatedReply): JsonObject => {
  const cacheWrite = tokens.cacheWrite5m + tokens.cacheWrite1h
  return {
    inputTokens: tokens.fresh,
    outputTokens,
    totalTokens: tokens.fresh + tokens.cacheRead + cacheWrite + outputTokens,
    cacheReadInputTokens: tokens.cacheRead,
    cacheWriteInputTokens: cacheWrite,
    cacheDetails: [
      { ttl: "5m", inputTokens: tokens.cacheWrite5m },
      { ttl: "1h", inputTokens: tokens.cacheWrite1h }
    ].filter(({ inputTokens }) => inputTokens > 0)
  }
}

const stopReasons = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "content_filtered"
} as const satisfies Record<SimulatedReply["finishReason"], string>

const stopOf = ({ finishReason, stopSequence }: SimulatedReply): string =>
  stopSequence === undefined ? stopReasons[finishReason] : "stop_sequence"

const metrics = { latencyMs: 1 }

const body = (_request: SimulatedRequest, reply: SimulatedReply): JsonObject => {
  const text = reply.reasoning.join("")
  const content = [
    ...(text === "" ? [] : [{ reasoningContent: { reasoningText: { text, signature: thinkingSignature(text) } } }]),
    ...(reply.text.length === 0 ? [] : [{ text: reply.text.join("") }]),
    ...reply.toolCalls.map((call) => ({
      toolUse: { toolUseId: `tooluse_${call.id}`, name: call.name, input: JSON.parse(call.arguments) }
    }))
  ]
  return {
    output: { message: { role: "assistant", content } },
    stopReason: stopOf(reply),
    usage: usageOf(reply),
    metrics
  }
}

const events = (_request: SimulatedRequest, reply: SimulatedReply): ReadonlyArray<SimulatedEvent<Uint8Array>> => {
  // Bedrock pads every payload, so that its length does not reveal its content.
  const event = (type: string, payload: JsonObject): SimulatedEvent<Uint8Array> => ({
    frame: eventMessage("event", type, { ...payload, p: "abcdefgh" }),
    isToken: false
  })
  let index = -1
  const delta = (part: JsonObject): SimulatedEvent<Uint8Array> =>
    event("contentBlockDelta", { contentBlockIndex: index, delta: part })
  const token = (part: JsonObject): SimulatedEvent<Uint8Array> => ({ ...delta(part), isToken: true })
  const block = (
    deltas: () => ReadonlyArray<SimulatedEvent<Uint8Array>>
  ): ReadonlyArray<SimulatedEvent<Uint8Array>> => {
    index++
    return [...deltas(), event("contentBlockStop", { contentBlockIndex: index })]
  }
  const thinking = () => [
    ...reply.reasoning.map((text) => token({ reasoningContent: { text } })),
    delta({ reasoningContent: { signature: thinkingSignature(reply.reasoning.join("")) } })
  ]
  return [
    event("messageStart", { role: "assistant" }),
    ...(reply.reasoning.length === 0 ? [] : block(thinking)),
    ...(reply.text.length === 0 ? [] : block(() => reply.text.map((text) => token({ text })))),
    ...reply.toolCalls.flatMap(({ arguments: written, id, name }) =>
      block(() => [
        event("contentBlockStart", {
          contentBlockIndex: index,
          start: { toolUse: { toolUseId: `tooluse_${id}`, name } }
        }),
        ...halves(written).map((input) => token({ toolUse: { input } }))
      ])
    ),
    event("messageStop", { stopReason: stopOf(reply) }),
    event("metadata", { usage: usageOf(reply), metrics })
  ]
}

const namesByStatus: { readonly [status: number]: string } = {
  401: "UnrecognizedClientException",
  403: "AccessDeniedException",
  404: "ResourceNotFoundException",
  408: "ModelTimeoutException",
  424: "ModelErrorException",
  429: "ThrottlingException",
  503: "ServiceUnavailableException"
}

interface Exception {
  readonly status: number
  readonly name: string
  readonly message: string
}

const exceptionOf = (error: SimulatedError): Exception => {
  switch (error._tag) {
    case "Status": {
      const { status } = error
      const name = namesByStatus[status] ?? (status < 500 ? "ValidationException" : "InternalServerException")
      return { status, name, message: `The sandbox was asked for status ${status}.` }
    }
    case "Invalid":
      return { status: 400, name: "ValidationException", message: error.message }
    case "Overloaded":
      return { status: 503, name: "ServiceUnavailableException", message: "Bedrock is unable to process your request." }
    case "Quota":
      return { status: 403, name: "AccessDeniedException", message: "Your account is not authorized to use the model." }
    case "Context":
      return { status: 400, name: "ValidationException", message: "Input is too long for requested model." }
  }
}

const errorReply = (error: SimulatedError): ErrorReply => {
  const { message, name, status } = exceptionOf(error)
  return {
    status,
    headers: { "x-amzn-errortype": `${name}:http://internal.amazon.com/` },
    body: { __type: name, message }
  }
}

export const simulatedProtocol: SimulatedProtocol<Uint8Array> = {
  basePath: "/bedrock",
  path: "/bedrock/model/:model/:method",
  streamMediaType: "application/vnd.amazon.eventstream",
  readRequest,
  body,
  events,
  error: errorReply,
  errorEvent: (error) => {
    const { message: text, name } = exceptionOf(error)
    return eventMessage("exception", `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`, { message: text })
  }
}
