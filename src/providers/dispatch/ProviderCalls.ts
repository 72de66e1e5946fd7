/**
 * One call to one target: its protocol encodes the request, the transport carries it, and its protocol reads the
 * answer. It either succeeds or fails with a classified failure; what follows from a failure is decided elsewhere.
 */
import { Array as Arr, Cause, Duration, Effect, Pull, Result, type Scope } from "effect"

import { Catalog } from "../../catalog/Catalog.ts"
import { type ChatProtocolName, isTranscription } from "../../catalog/Model.ts"
import { type CompletionEvent, isOutput } from "../../domain/Completion.ts"
import type { ChatRequest } from "../../domain/Conversation.ts"
import { broken, Failure, transient } from "../../domain/Failure.ts"
import type { Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"
import type { ProviderFrame, Protocol, StreamReader, WireCall } from "../protocols/Protocol.ts"
import { transcriptionProtocols } from "../protocols/Protocols.ts"
import { type Exchange, HttpTransport } from "../transport/HttpTransport.ts"
import type { Timeouts } from "../transport/Timeouts.ts"
import * as ChatTranscription from "./ChatTranscription.ts"
import type { Target } from "./Target.ts"

/** The events of a stream, one array per packet. */
export type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<CompletionEvent>, Failure>

export interface ChatCallInput {
  readonly request: ChatRequest
  /** The same with bytes in place of image URLs; asked for by the targets that need it, loaded once for all of them. */
  readonly inlined: Effect.Effect<ChatRequest, Failure>
  readonly affinity?: string
}

export interface TranscriptionCallInput {
  readonly request: TranscriptionRequest
  /** The same for models that converse; made for the first of them, and held for all. */
  readonly question: Effect.Effect<ChatRequest>
}

export interface ProviderCalls {
  readonly complete: (target: Target, question: ChatCallInput) => Effect.Effect<ReadonlyArray<CompletionEvent>, Failure>
  /** The stream from its beginning, once its first output or its end is there. */
  readonly open: (target: Target, question: ChatCallInput) => Effect.Effect<EventPull, Failure, Scope.Scope>
  readonly transcribe: (target: Target, recording: TranscriptionCallInput) => Effect.Effect<Transcript, Failure>
}

/** Events before the first output. Only a broken provider sends this much without saying anything. */
const maxHeldEvents = 1_000
/** How long we wait, after the last event, for the end of the response: then its socket can serve the next call. */
const farewellPatience = Duration.millis(250)

export const makeProviderCalls = Effect.fnUntraced(function* (
  protocols: Record<ChatProtocolName, Protocol>,
  timeouts: Timeouts
): Effect.fn.Return<ProviderCalls, never, Catalog | HttpTransport> {
  const catalog = yield* Catalog
  const transport = yield* HttpTransport

  const accountFor = ({ endpoint }: Target) =>
    Effect.fromNullishOr(catalog.account(endpoint.provider)).pipe(Effect.mapError(() => switchedOff))

  const prepare = Effect.fnUntraced(function* (target: Target, question: ChatCallInput, stream: boolean) {
    const { protocol: name } = target.endpoint
    if (isTranscription(name)) return yield* Effect.die(`${target.endpoint.id} cannot be asked in a conversation`)
    const account = yield* accountFor(target)
    const protocol = protocols[name]
    const call: WireCall = {
      request: protocol.takesImageUrls ? question.request : yield* question.inlined,
      ...(question.affinity !== undefined && { affinity: question.affinity }),
      stream,
      model: target.model,
      upstream: target.endpoint.upstream,
      maxOutputTokens: target.endpoint.maxOutputTokens,
      dialect: account.provider.dialect,
      origin: `${target.endpoint.provider}/${target.endpoint.upstream}`
    }
    const wire = yield* Effect.fromResult(protocol.encode(call))
    const exchange: Exchange = { account, wire, failure: protocol.failure }
    return { protocol, call, exchange }
  })

  const complete = Effect.fnUntraced(function* (target: Target, question: ChatCallInput) {
    const { protocol, call, exchange } = yield* prepare(target, question, false)
    const body = yield* transport.json(exchange)
    const events = yield* Effect.fromResult(protocol.decode(body, call))
    return events.some(isFinish) ? events : yield* unfinished
  })

  const open = Effect.fnUntraced(
    function* (target: Target, question: ChatCallInput) {
      const { protocol, call, exchange } = yield* prepare(target, question, true)
      const opened = yield* transport.open(exchange)
      if (opened._tag === "Frames") return yield* afterOutput(yield* eventsOf(opened.frames, protocol.reader(call)))
      const events = yield* Effect.fromResult(protocol.decode(opened.body, call))
      if (!Arr.isReadonlyArrayNonEmpty(events) || !events.some(isFinish)) return yield* unfinished
      return prepend(events, Cause.done())
    },
    Effect.timeoutOrElse({
      duration: timeouts.firstOutput,
      orElse: () => Effect.fail(transient("timeout", "The provider produced no output in time."))
    })
  )

  const transcribe = Effect.fnUntraced(function* (target: Target, { question, request }: TranscriptionCallInput) {
    const { protocol, upstream } = target.endpoint
    if (isTranscription(protocol)) {
      const account = yield* accountFor(target)
      const { decode, encode, failure } = transcriptionProtocols[protocol]
      const wire = encode({ request, upstream, dialect: account.provider.dialect })
      return yield* Effect.flatMap(transport.json({ account, wire, failure }), (body) =>
        Effect.fromResult(decode(body))
      )
    }
    const events = yield* complete(target, { request: yield* question, inlined: question })
    return yield* Effect.fromResult(ChatTranscription.transcriptIn(events))
  })

  return { complete, open, transcribe }
})

const switchedOff = new Failure({ reason: { _tag: "Credentials" }, message: "The provider is not switched on." })

const unfinished = Effect.fail(broken("The provider's answer has no end."))

const isFinish = (event: CompletionEvent): boolean => event.type === "finish"

/** Reads frames into events, a packet at a time. A failure in the middle of a packet comes after what preceded it. */
const eventsOf = Effect.fnUntraced(function* (
  frames: Pull.Pull<Arr.NonEmptyReadonlyArray<ProviderFrame>, Failure>,
  reader: StreamReader
) {
  let end: Effect.Effect<never, Failure | Cause.Done> | undefined
  const read = (packet: ReadonlyArray<ProviderFrame>, isLast: boolean) => {
    const events: Array<CompletionEvent> = []
    const take = (result: Result.Result<ReadonlyArray<CompletionEvent>, Failure>) => {
      if (Result.isFailure(result)) end = Effect.fail(result.failure)
      else for (const event of result.success) events.push(event)
    }
    for (const frame of packet) {
      if (end !== undefined || reader.ended()) break
      take(reader.step(frame))
    }
    if (end === undefined && (isLast || reader.ended())) {
      end = Cause.done()
      take(reader.finish())
    }
    return Arr.isArrayNonEmpty(events) ? Effect.succeed(events) : next
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
  yield* Effect.addFinalizer(() => (reader.ended() ? farewell(frames) : Effect.void))
  return next
})

const farewell = (frames: Pull.Pull<unknown, Failure>) =>
  Effect.forever(frames).pipe(Effect.interruptible, Effect.timeoutOption(farewellPatience), Effect.exit)

/** Waits until the stream has said something, or has ended; the answer begins where the stream began. */
const afterOutput = Effect.fnUntraced(function* (events: EventPull) {
  const held: Array<CompletionEvent> = []
  while (!held.some((event) => isOutput(event) || isFinish(event))) {
    if (held.length > maxHeldEvents) return yield* broken("The provider streams without saying anything.")
    const packet = yield* Pull.catchDone(events, () => unfinished)
    for (const event of packet) held.push(event)
  }
  return Arr.isArrayNonEmpty(held) ? prepend(held, events) : events
})

const prepend = (head: Arr.NonEmptyReadonlyArray<CompletionEvent>, tail: EventPull): EventPull => {
  let begun = false
  return Effect.suspend(() => {
    if (begun) return tail
    begun = true
    return Effect.succeed(head)
  })
}
