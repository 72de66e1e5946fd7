/**
 * Turns the frames of a stream into events, and waits for the first output. A failure in the middle of a packet comes
 * after the events that preceded it, so that no output is lost.
 */
import { Effect, Result } from "effect"

import { type CompletionEvent, isOutput } from "../../domain/Completion.ts"
import { broken, type Failure } from "../../domain/Failure.ts"
import { onePacket, prepended, untilReady } from "../../domain/PacketSource.ts"
import type { ProviderFrame, StreamReader } from "../protocols/Protocol.ts"
import type { ReceivedFrames } from "../transport/ReceivedAnswer.ts"
import type { EventPackets } from "./ProviderAnswer.ts"

/** Events before the first output. Only a broken provider sends more of them. */
const maxHeldEvents = 1_000

/** An answer that ends without a finish event is incomplete, even if it reads well. */
export const incomplete = Effect.fail(broken("The provider's answer is incomplete."))

export const isFinish = (event: CompletionEvent): boolean => event.type === "finish"

/** The events of an answer; when it has ended, `onLast` gets those of the last packet. */
export const eventsOf = (
  frames: ReceivedFrames,
  reader: StreamReader,
  onLast: (events: ReadonlyArray<CompletionEvent>) => Effect.Effect<void>
): EventPackets => {
  let end: Effect.Effect<void, Failure> | undefined
  const step = (packet: ReadonlyArray<ProviderFrame>, isLast: boolean): ReadonlyArray<CompletionEvent> => {
    const events: Array<CompletionEvent> = []
    const add = (result: Result.Result<ReadonlyArray<CompletionEvent>, Failure>) => {
      if (Result.isFailure(result)) end = Effect.fail(result.failure)
      else for (const event of result.success) events.push(event)
    }
    for (const frame of packet) {
      if (end !== undefined || reader.ended()) break
      add(reader.step(frame))
    }
    if (end === undefined && (isLast || reader.ended())) {
      end = Effect.void
      add(reader.finish())
      frames.readRest()
    }
    if (end !== undefined && events.length > 0) end = Effect.andThen(onLast(events), end)
    return events
  }
  const read = () => {
    while (end === undefined) {
      const packet = frames.read()
      if (packet === undefined) return undefined
      const failure = packet === "over" ? frames.failure() : undefined
      if (failure !== undefined) end = Effect.fail(failure)
      else {
        const events = packet === "over" ? step([], true) : step(packet, false)
        if (events.length > 0) return events
      }
    }
    return "over"
  }
  return { read, whenReady: (ready) => frames.whenReady(ready), end: () => end ?? Effect.void }
}

/** The same events from the beginning, once the first output or the finish event has arrived. */
export const afterFirstOutput = Effect.fnUntraced(function* (events: EventPackets) {
  const held: Array<CompletionEvent> = []
  while (!held.some((event) => isOutput(event) || isFinish(event))) {
    if (held.length > maxHeldEvents) return yield* broken("The provider streams events without any output.")
    const packet = events.read()
    if (packet === undefined) yield* untilReady(events)
    else if (packet === "over") return yield* Effect.andThen(events.end(), incomplete)
    else for (const event of packet) held.push(event)
  }
  return prepended(held, events)
})

/** A whole answer as the events of a stream. */
export const inOnePiece = (events: ReadonlyArray<CompletionEvent>): EventPackets => onePacket(events, () => Effect.void)
