/**
 * Turns a reply into an HTTP response, with the faults that apply to it. Faults are injected on the wire (statuses,
 * broken bodies, pauses, dropped connections), so that the gateway meets them as it would at a real provider.
 */
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import type { Fault, FaultName } from "./Directives.ts"
import type { FrameBytes, SimulatedError, SimulatedEvent, SimulatedProtocol } from "./SimulatedProtocol.ts"
import type { SimulatedReply } from "./SimulatedReply.ts"
import type { SimulatedRequest } from "./SimulatedRequest.ts"

/** The response to a request. */
export const respondTo = (
  protocol: SimulatedProtocol<FrameBytes>,
  request: SimulatedRequest,
  reply: SimulatedReply,
  faults: ReadonlyArray<Fault>
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = faults.flatMap((fault) => errorOf(fault) ?? [])[0]
  if (error !== undefined) return Effect.succeed(errorResponse(protocol, error, retryAfterOf(faults)))
  if (has(faults, "html")) return Effect.succeed(webPage)
  return request.stream
    ? Effect.succeed(streamed(protocol, protocol.events(request, reply), faults))
    : plain(protocol, protocol.body(request, reply), reply.outputTokens, faults)
}

/** An error in the protocol's own format. */
export const errorResponse = (
  protocol: SimulatedProtocol<FrameBytes>,
  error: SimulatedError,
  retryAfterSeconds?: number
): HttpServerResponse.HttpServerResponse => {
  const { status, body, headers } = protocol.error(error)
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

/** The error that takes the place of the reply, for faults that are errors. */
const errorOf = ({ name, status }: Fault): SimulatedError | undefined => {
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

/** How long a connection that will be dropped stays open, so that what was written is read before. */
const dropDelay = "50 millis"

/** Ends a response in the middle: an interrupted response makes the server drop the connection. */
const drop = Stream.fromEffect(Effect.delay(Effect.interrupt, dropDelay))

const bytesOf = (frame: FrameBytes): Uint8Array => (typeof frame === "string" ? new TextEncoder().encode(frame) : frame)

const plain = (
  protocol: SimulatedProtocol<FrameBytes>,
  body: object,
  outputTokens: number,
  faults: ReadonlyArray<Fault>
) => {
  const pause = millisOf(faults, "stall") + millisOf(faults, "slow") * outputTokens
  const text = JSON.stringify(has(faults, "error-in-200") ? protocol.error({ _tag: "Overloaded" }).body : body)
  const half = text.slice(0, text.length / 2)
  const response = has(faults, "cut")
    ? HttpServerResponse.stream(Stream.concat(Stream.succeed(bytesOf(half)), drop), { contentType: "application/json" })
    : HttpServerResponse.text(has(faults, "truncated-json") ? half : text, { contentType: "application/json" })
  return Effect.delay(Effect.succeed(response), pause)
}

const streamed = (
  protocol: SimulatedProtocol<FrameBytes>,
  events: ReadonlyArray<SimulatedEvent<FrameBytes>>,
  faults: ReadonlyArray<Fault>
) =>
  HttpServerResponse.stream(withFaults(protocol, events, faults), {
    contentType: protocol.streamMediaType ?? "text/event-stream",
    headers: { "cache-control": "no-cache" }
  })

/** The bytes of a stream. Faults come after the events before the first token, which never fail. */
const withFaults = (
  protocol: SimulatedProtocol<FrameBytes>,
  events: ReadonlyArray<SimulatedEvent<FrameBytes>>,
  faults: ReadonlyArray<Fault>
): Stream.Stream<Uint8Array> => {
  const firstToken = events.findIndex(({ isToken }) => isToken)
  const opening = events.slice(0, Math.max(firstToken, 1))
  const rest = events.slice(opening.length)
  const stall = millisOf(faults, "stall")
  const beginning = Stream.concat(
    packet(opening.map(({ frame }) => frame)),
    stall > 0 ? Stream.drain(Stream.fromEffect(Effect.sleep(stall))) : Stream.empty
  )
  if (has(faults, "error-in-200"))
    return Stream.concat(beginning, packet([protocol.errorEvent({ _tag: "Overloaded" })]))
  if (has(faults, "truncated-json")) {
    const last = rest[0]?.frame ?? ""
    return Stream.concat(beginning, packet([last.slice(0, last.length / 2)]))
  }
  const cut = faults.find(({ name }) => name === "cut")
  const kept = cut === undefined ? rest : upToToken(rest, cut.tokens)
  const whole = Stream.concat(beginning, paced(kept, millisOf(faults, "slow")))
  return cut === undefined ? whole : Stream.concat(whole, drop)
}

/** Frames that are written at once. */
const packet = (frames: ReadonlyArray<FrameBytes>): Stream.Stream<Uint8Array> =>
  frames.length === 0 ? Stream.empty : Stream.succeed(Buffer.concat(frames.map(bytesOf)))

const upToToken = (
  events: ReadonlyArray<SimulatedEvent<FrameBytes>>,
  tokens: number
): ReadonlyArray<SimulatedEvent<FrameBytes>> => {
  let seen = 0
  const end = events.findIndex(({ isToken }) => isToken && ++seen > tokens)
  return end < 0 ? events.filter(({ isToken }) => isToken) : events.slice(0, end)
}

/** Writes all events at once, or, with a pause, one at a time and the pause before each token. */
const paced = (events: ReadonlyArray<SimulatedEvent<FrameBytes>>, pauseMillis: number): Stream.Stream<Uint8Array> =>
  pauseMillis === 0
    ? packet(events.map(({ frame }) => frame))
    : Stream.mapEffect(Stream.fromIterable(events), ({ frame, isToken }) =>
        Effect.delay(Effect.succeed(bytesOf(frame)), isToken ? pauseMillis : 0)
      )
