/** Packet sources as streams of Effect and back, for suites that make or read them with the means of streams. */
import { Cause, Effect, Exit, Fiber, type Scope, Stream } from "effect"

import type { InternalError } from "../../src/api/Errors.ts"
import type { CompletionEvent } from "../../src/domain/Completion.ts"
import type { Failure } from "../../src/domain/Failure.ts"
import { type PacketSource, untilReady } from "../../src/domain/PacketSource.ts"
import type { Delta } from "../../src/gateway/Meter.ts"
import type { DrainSignal, LastItem, StreamItems } from "../../src/gateway/Settlement.ts"
import { makeDrainSignal } from "../../src/http/edge/Drain.ts"
import type { EventPackets } from "../../src/providers/dispatch/ProviderAnswer.ts"

/** Everything that a source gives before its end. */
export const streamOfPackets = <A>(source: Omit<PacketSource<A, never>, "end">): Stream.Stream<A> =>
  Stream.unwrap(
    Effect.sync(() => {
      const packet = source.read()
      if (packet === "over") return Stream.empty
      const rest = Stream.suspend(() => streamOfPackets(source))
      return packet === undefined
        ? Stream.concat(Stream.drain(Stream.fromEffect(untilReady(source))), rest)
        : Stream.concat(Stream.fromIterable(packet), rest)
    })
  )

export const streamOfEvents = (events: EventPackets): Stream.Stream<CompletionEvent, Failure> =>
  Stream.concat(
    streamOfPackets(events),
    Stream.drain(Stream.unwrap(Effect.sync(() => Stream.fromEffect(events.end()))))
  )

/** An answer with its events as a stream. */
export const withEventStream = <Answer extends { readonly value: EventPackets }, E, R>(
  answered: Effect.Effect<Answer, E, R>
) => Effect.map(answered, (answer) => ({ ...answer, value: streamOfEvents(answer.value) }))

export const streamOfItems = (items: StreamItems): Stream.Stream<Delta | LastItem> =>
  Stream.concat(streamOfPackets(items), Stream.unwrap(Effect.sync(() => Stream.fromEffect(items.end()))))

/** Each pull of the stream begins when the source is read. */
const packetsOf = Effect.fnUntraced(function* <A, E>(stream: Stream.Stream<A, E>) {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const pull = yield* Stream.toPull(stream)
  let pulled: Exit.Exit<ReadonlyArray<A>, E | Cause.Done> | undefined
  let isPulling = false
  let ready: (() => void) | undefined
  const begin = () => {
    isPulling = true
    Fiber.runIn(fork(pull), scope).addObserver((exit) => {
      isPulling = false
      pulled = exit
      ready?.()
    })
  }
  const source: PacketSource<A, Effect.Effect<void, E>> = {
    read: () => {
      if (pulled === undefined && !isPulling) begin()
      if (pulled === undefined) return undefined
      if (Exit.isFailure(pulled)) return "over"
      const { value } = pulled
      pulled = undefined
      return value
    },
    whenReady: (listener) => {
      ready = listener
    },
    end: () => {
      const cause = pulled !== undefined && Exit.isFailure(pulled) ? pulled.cause : undefined
      return cause === undefined || cause.reasons.some((reason) => reason._tag === "Fail" && Cause.isDone(reason.error))
        ? Effect.void
        : Effect.failCause(cause as Cause.Cause<E>)
    }
  }
  return source
})

export const packetsOfEvents: (
  stream: Stream.Stream<CompletionEvent, Failure>
) => Effect.Effect<EventPackets, never, Scope.Scope> = packetsOf

/** The last item of the stream is the end of the source. */
export const packetsOfItems = Effect.fnUntraced(function* (stream: Stream.Stream<Delta | LastItem>) {
  let last: LastItem | undefined
  const isLast = (item: Delta | LastItem): item is LastItem => item.type === "settled" || item.type === "broken"
  const deltas = Stream.filter(stream, (item): item is Delta => {
    if (!isLast(item)) return true
    last = item
    return false
  })
  const source = yield* packetsOf(deltas)
  const end = Effect.suspend(() => (last === undefined ? Effect.die("a stream has a last item") : Effect.succeed(last)))
  return { ...source, end: () => end } satisfies StreamItems
})

/** A signal that comes when the effect fails. */
export const drainSignalOf = Effect.fnUntraced(function* (failing: Effect.Effect<never, InternalError>) {
  const listeners = new Set<(error: InternalError) => void>()
  yield* Effect.flip(failing).pipe(
    Effect.map((error) => listeners.forEach((listener) => listener(error))),
    Effect.forkScoped
  )
  return {
    listen: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  } satisfies DrainSignal
})

/** A signal that never comes. */
export const neverDrained: DrainSignal = makeDrainSignal().signal
