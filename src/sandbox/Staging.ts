/** Turns a reply into an HTTP response, with the faults that were asked for. */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import type { Fault, FaultName } from "./Directives.ts"
import type { Prompt, Reply } from "./Prompt.ts"
import type { Bytes, SimulatedError, StreamPiece, SimulatedProtocol } from "./Wire.ts"

/** The response to a prompt. It comes late, broken or not at all, when the faults say so. */
export const respondTo = (
  wire: SimulatedProtocol<Bytes>,
  prompt: Prompt,
  reply: Reply,
  faults: ReadonlyArray<Fault>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const complaint = faults.flatMap((fault) => complaintOf(fault) ?? [])[0]
  if (complaint !== undefined) return Effect.succeed(errorResponse(wire, complaint, retryAfterOf(faults)))
  if (has(faults, "html")) return Effect.succeed(webPage)
  return prompt.stream ? Effect.succeed(streamed(wire, prompt, reply, faults)) : plain(wire, prompt, reply, faults)
}

/** An error answer in the protocol's own words. */
export const errorResponse = (
  wire: SimulatedProtocol<Bytes>,
  complaint: SimulatedError,
  retryAfterSeconds?: number
): HttpServerResponse.HttpServerResponse => {
  const { status, body, headers } = wire.complain(complaint)
  return HttpServerResponse.jsonUnsafe(body, {
    status,
    headers: { ...headers, ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }) }
  })
}

const has = (faults: ReadonlyArray<Fault>, name: FaultName): boolean => faults.some((fault) => fault.name === name)

const millisOf = (faults: ReadonlyArray<Fault>, name: FaultName): number =>
  faults.find((fault) => fault.name === name)?.millis ?? 0

const retryAfterOf = (faults: ReadonlyArray<Fault>): number | undefined =>
  faults.find((fault) => fault.retryAfterSeconds !== undefined)?.retryAfterSeconds

const complaintOf = ({ name, status }: Fault): SimulatedError | undefined => {
  switch (name) {
    case "status":
      return { _tag: "Status", status }
    case "overloaded":
      return { _tag: "Overloaded" }
    case "quota":
      return { _tag: "Quota" }
    case "context":
      return { _tag: "Context" }
    default:
      return undefined
  }
}

const webPage = HttpServerResponse.text("<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>", {
  contentType: "text/html"
})

/** Time for what was written to be read before the connection goes. */
const lastWords = "50 millis"

/** Ends a response in the middle: the server drops the connection. */
const drop = Stream.fromEffect(Effect.delay(Effect.interrupt, lastWords))

const bytesOf = (frame: Bytes): Uint8Array => (typeof frame === "string" ? new TextEncoder().encode(frame) : frame)

const plain = (wire: SimulatedProtocol<Bytes>, prompt: Prompt, reply: Reply, faults: ReadonlyArray<Fault>) => {
  const pause = millisOf(faults, "stall") + millisOf(faults, "slow") * reply.outputTokens
  const body = has(faults, "error-in-200") ? wire.complain({ _tag: "Overloaded" }).body : wire.answer(prompt, reply)
  const text = JSON.stringify(body)
  const half = text.slice(0, text.length / 2)
  const response = has(faults, "cut")
    ? HttpServerResponse.stream(Stream.concat(Stream.succeed(bytesOf(half)), drop), { contentType: "application/json" })
    : HttpServerResponse.text(has(faults, "truncated-json") ? half : text, { contentType: "application/json" })
  return Effect.delay(Effect.succeed(response), pause)
}

const streamed = (wire: SimulatedProtocol<Bytes>, prompt: Prompt, reply: Reply, faults: ReadonlyArray<Fault>) =>
  HttpServerResponse.stream(played(wire, wire.pieces(prompt, reply), faults), {
    contentType: wire.media ?? "text/event-stream",
    headers: { "cache-control": "no-cache" }
  })

const played = (
  wire: SimulatedProtocol<Bytes>,
  pieces: ReadonlyArray<StreamPiece<Bytes>>,
  faults: ReadonlyArray<Fault>
): Stream.Stream<Uint8Array> => {
  const opening = pieces.findIndex(({ isToken }) => isToken)
  const head = pieces.slice(0, Math.max(opening, 1))
  const rest = pieces.slice(head.length)
  const stall = millisOf(faults, "stall")
  const beginning = Stream.concat(
    packet(head.map(({ frame }) => frame)),
    stall > 0 ? Stream.drain(Stream.fromEffect(Effect.sleep(stall))) : Stream.empty
  )
  if (has(faults, "error-in-200"))
    return Stream.concat(beginning, packet([wire.complainInStream({ _tag: "Overloaded" })]))
  if (has(faults, "truncated-json")) {
    const last = rest[0]?.frame ?? ""
    return Stream.concat(beginning, packet([last.slice(0, last.length / 2)]))
  }
  const cut = faults.find(({ name }) => name === "cut")
  const kept = cut === undefined ? rest : upToToken(rest, cut.tokens)
  const told = Stream.concat(beginning, paced(kept, millisOf(faults, "slow")))
  return cut === undefined ? told : Stream.concat(told, drop)
}

const packet = (frames: ReadonlyArray<Bytes>): Stream.Stream<Uint8Array> =>
  frames.length === 0 ? Stream.empty : Stream.succeed(Buffer.concat(frames.map(bytesOf)))

const upToToken = (pieces: ReadonlyArray<StreamPiece<Bytes>>, tokens: number): ReadonlyArray<StreamPiece<Bytes>> => {
  let seen = 0
  const end = pieces.findIndex(({ isToken }) => isToken && ++seen > tokens)
  return end < 0 ? pieces.filter(({ isToken }) => isToken) : pieces.slice(0, end)
}

/** One write for all of it, or one per token with a pause before each. */
const paced = (pieces: ReadonlyArray<StreamPiece<Bytes>>, pauseMillis: number): Stream.Stream<Uint8Array> =>
  pauseMillis === 0
    ? packet(pieces.map(({ frame }) => frame))
    : Stream.mapEffect(Stream.fromIterable(pieces), ({ frame, isToken }) =>
        Effect.delay(Effect.succeed(bytesOf(frame)), isToken ? pauseMillis : 0)
      )
