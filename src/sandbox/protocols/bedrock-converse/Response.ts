/** The sandbox as Bedrock's Converse, whose streams are binary messages in place of server-sent events. */
import { EventStreamCodec } from "@smithy/eventstream-codec"

import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { Prompt, Reply } from "../../Prompt.ts"
import { type SimulatedError, halves, type StreamPiece, type SimulatedProtocol } from "../../Wire.ts"
import { signatureOf } from "../anthropic-messages/Request.ts"
import { read } from "./Request.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
  (text) => encoder.encode(text)
)

/** One message of an event stream. */
export const message = (kind: "event" | "exception", type: string, payload: JsonObject): Uint8Array =>
  codec.encode({
    headers: {
      [`:${kind}-type`]: { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" },
      ":message-type": { type: "string", value: kind }
    },
    body: encoder.encode(JSON.stringify(payload))
  })

const usageOf = ({ outputTokens, promptTokens: tokens }: Reply): JsonObject => {
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
} as const satisfies Record<Reply["finish"], string>

const stopOf = ({ finish, stoppedAt }: Reply): string =>
  stoppedAt === undefined ? stopReasons[finish] : "stop_sequence"

const metrics = { latencyMs: 1 }

const answer = (_prompt: Prompt, reply: Reply): JsonObject => {
  const text = reply.thinking.join("")
  const content = [
    ...(text === "" ? [] : [{ reasoningContent: { reasoningText: { text, signature: signatureOf(text) } } }]),
    ...(reply.text.length === 0 ? [] : [{ text: reply.text.join("") }]),
    ...reply.calls.map((call) => ({
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

const pieces = (_prompt: Prompt, reply: Reply): ReadonlyArray<StreamPiece<Uint8Array>> => {
  // Every payload is padded, so that its length does not tell what it says.
  const event = (type: string, payload: JsonObject): StreamPiece<Uint8Array> => ({
    frame: message("event", type, { ...payload, p: "abcdefgh" }),
    isToken: false
  })
  let index = -1
  const delta = (part: JsonObject): StreamPiece<Uint8Array> =>
    event("contentBlockDelta", { contentBlockIndex: index, delta: part })
  const token = (part: JsonObject): StreamPiece<Uint8Array> => ({ ...delta(part), isToken: true })
  const block = (deltas: () => ReadonlyArray<StreamPiece<Uint8Array>>): ReadonlyArray<StreamPiece<Uint8Array>> => {
    index++
    return [...deltas(), event("contentBlockStop", { contentBlockIndex: index })]
  }
  const thinking = () => [
    ...reply.thinking.map((text) => token({ reasoningContent: { text } })),
    delta({ reasoningContent: { signature: signatureOf(reply.thinking.join("")) } })
  ]
  return [
    event("messageStart", { role: "assistant" }),
    ...(reply.thinking.length === 0 ? [] : block(thinking)),
    ...(reply.text.length === 0 ? [] : block(() => reply.text.map((text) => token({ text })))),
    ...reply.calls.flatMap(({ arguments: written, id, name }) =>
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

const exceptionOf = (complaint: SimulatedError): Exception => {
  switch (complaint._tag) {
    case "Status": {
      const { status } = complaint
      const name = namesByStatus[status] ?? (status < 500 ? "ValidationException" : "InternalServerException")
      return { status, name, message: `The sandbox was asked for status ${status}.` }
    }
    case "Invalid":
      return { status: 400, name: "ValidationException", message: complaint.message }
    case "Overloaded":
      return { status: 503, name: "ServiceUnavailableException", message: "Bedrock is unable to process your request." }
    case "Quota":
      return { status: 403, name: "AccessDeniedException", message: "Your account is not authorized to use the model." }
    case "Context":
      return { status: 400, name: "ValidationException", message: "Input is too long for requested model." }
  }
}

const complain = (complaint: SimulatedError) => {
  const { message, name, status } = exceptionOf(complaint)
  return {
    status,
    headers: { "x-amzn-errortype": `${name}:http://internal.amazon.com/` },
    body: { __type: name, message }
  }
}

export const bedrockWire: SimulatedProtocol<Uint8Array> = {
  base: "/bedrock",
  path: "/bedrock/model/:model/:method",
  media: "application/vnd.amazon.eventstream",
  read,
  answer,
  pieces,
  complain,
  complainInStream: (complaint) => {
    const { message: text, name } = exceptionOf(complaint)
    return message("exception", `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`, { message: text })
  }
}
