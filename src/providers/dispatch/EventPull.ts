/**
 * Turns the frames of a stream into events, and waits for the first output. A failure in the middle of a packet comes
 * after the events that preceded it, so that no output is lost.
 */
import { Array as Arr, Cause, Effect, Pull, Result } from "effect"

import { type CompletionEvent, isOutput } from "../../domain/Completion.ts"
import { broken, type Failure } from "../../domain/Failure.ts"
import type { ProviderFrame, StreamReader } from "../protocols/Protocol.ts"
import type { OpenedAnswer } from "../transport/ReceivedAnswer.ts"

/** The events of a stream. Each pull gives those of one packet. */
export type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<CompletionEvent>, Failure>

/** Events before the first output. Only a broken provider sends more of them. */
const maxHeldEvents = 1_000

/** An answer that ends without a finish event is incomplete, even if it reads well. */
export const incomplete = Effect.fail(broken("The provider's answer is incomplete."))

export const isFinish = (event: CompletionEvent): boolean => event.type === "finish"

/** The events of an answer; `onLast` gets those of the last packet. */
export const eventsOf = (
  { frames, readRest }: Extract<OpenedAnswer, { readonly _tag: "Frames" }>,
  reader: StreamReader,
  onLast: (events: ReadonlyArray<CompletionEvent>) => Effect.Effect<void>
): EventPull => {
  let end: Effect.Effect<never, Failure | Cause.Done> | undefined
  const read = (packet: ReadonlyArray<ProviderFrame>, isLast: boolean) => {
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
      end = Cause.done()
      add(reader.finish())
      readRest()
    }
    if (!Arr.isArrayNonEmpty(events)) return next
    return end === undefined ? Effect.succeed(events) : Effect.as(onLast(events), events)
  }
  const next: EventPull = Effect.suspend(
    () =>
      end ??
      Pull.matchEffect(frames, {
        onSuccess: (packet) => read(packet, false),
        onFailure: Effect.failCause,
        onDone: () => read([], true)
      })
  )
  return next
}

/** The same events from the beginning, once the first output or the finish event has arrived. */
export const afterFirstOutput = Effect.fnUntraced(function* (events: EventPull) {
  const held: Array<CompletionEvent> = []
  while (!held.some((event) => isOutput(event) || isFinish(event))) {
    if (held.length > maxHeldEvents) return yield* broken("The provider streams events without any output.")
    const packet = yield* Pull.catchDone(events, () => incomplete)
    for (const event of packet) held.push(event)
  }
  return Arr.isArrayNonEmpty(held) ? prepend(held, events) : events
})

/** Gives `first`, then what `rest` gives. */
export const prepend = (first: Arr.NonEmptyReadonlyArray<CompletionEvent>, rest: EventPull): EventPull => {
  let hasStarted = false
  return Effect.suspend(() => {
    if (hasStarted) return rest
    hasStarted = true
    return Effect.succeed(first)
  })
}
