/**
 * One request in flight. The HTTP client calls its methods as the answer arrives: a plain answer is collected and
 * parsed, and a stream is split into frames, without anything of Effect for a packet. The caller's fiber is resumed
 * once, with the whole answer or when a stream has begun, and then once for the frames of a packet that it waits for.
 *
 * Whatever was queued is bounded: a stream that is read more slowly than it arrives is paused.
 */
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Array as Arr, Cause, Duration, Effect, type Pull, Result } from "effect"

import { broken, type Failure, transient } from "../../domain/Failure.ts"
import type { ErrorResponse, ProviderFrame } from "../protocols/Protocol.ts"
import { connectionFailure } from "./ConnectionFailure.ts"
import type { Deadline, Deadlines } from "./Deadlines.ts"
import {
  bodyText,
  type Frames,
  isJson,
  jsonAnswer,
  joined,
  mediaOf,
  type OpenedAnswer,
  type ReceivedHeaders
} from "./ReceivedAnswer.ts"
import type { FrameParser } from "./SseFrames.ts"
import type { Timeouts } from "./Timeouts.ts"

/** The largest plain answer. */
const maxAnswerBytes = 32 * 1024 * 1024
/** How much of an error's body is read. */
const maxErrorBytes = 64 * 1024
/** How long we wait for an error's body. */
const errorBodyTimeout = Duration.seconds(5)
/** How long the end of the response may take after the last event. Once it is read, the socket can be used again. */
const endTimeout = Duration.millis(250)
/** How many bytes may wait for their reader before the provider is paused. */
const maxQueuedBytes = 64 * 1024

export interface ProviderCallOptions {
  readonly deadlines: Deadlines
  readonly timeouts: Timeouts
  /** Until the headers of the answer arrive. */
  readonly firstByte: Duration.Duration
  /** How a streamed answer is framed. Without it, a plain answer is expected. */
  readonly framing?: { readonly media: string; readonly makeParser: () => FrameParser }
  /** Classifies an answer whose status is not a success. */
  readonly failure: (response: ErrorResponse) => Failure
  /** Called once: with a plain answer when it is complete, with a stream when its headers have arrived. */
  readonly resume: (answer: Effect.Effect<OpenedAnswer, Failure>) => void
}

/** What the bytes that arrive are. `rest`: those after the end of a stream, which are ignored. */
type Phase = "headers" | "json" | "error" | "frames" | "rest" | "over"

export class ProviderCall implements Dispatcher.DispatchHandler, Deadline {
  expiresAtMillis: number
  private readonly options: ProviderCallOptions
  private readonly endsAtMillis: number
  private readonly silenceMillis: number
  private phase: Phase = "headers"
  private controller: Dispatcher.DispatchController | undefined
  private status = 0
  private headers: ReceivedHeaders = {}
  private readonly body: Array<Buffer> = []
  private bytes = 0
  private parser: FrameParser | undefined
  private queued: Array<ProviderFrame> = []
  private end: Effect.Effect<never, Failure | Cause.Done> | undefined
  private onOver: (() => void) | undefined
  private waiter: ((frames: Pull.Pull<Frames, Failure>) => void) | undefined

  constructor(options: ProviderCallOptions) {
    const { deadlines, firstByte, timeouts } = options
    const now = deadlines.nowMillis()
    this.options = options
    this.silenceMillis = Duration.toMillis(timeouts.silence)
    this.endsAtMillis = now + Duration.toMillis(timeouts.call)
    this.expiresAtMillis = Math.min(now + Duration.toMillis(firstByte), this.endsAtMillis)
    deadlines.watch(this)
  }

  /** Ends a stream: at once, unless its rest is read, for which it waits. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    if (this.phase !== "rest") this.abort()
    return this.phase === "over"
      ? Effect.void
      : Effect.callback<void>((resume) => {
          this.onOver = () => resume(Effect.void)
        })
  })

  /** Ends the call if it has not ended. The provider is disconnected and stops working on it. */
  abort(): void {
    if (this.phase === "over") return
    this.finish()
    this.controller?.abort(new Error("The call was given up"))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.phase === "over") controller.abort(new Error("The call was given up"))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ReceivedHeaders): void {
    if (status < 200 || this.phase !== "headers") return
    this.status = status
    this.headers = headers
    if (status > 299) {
      this.phase = "error"
      return this.expireIn(Duration.toMillis(errorBodyTimeout))
    }
    const media = mediaOf(headers)
    const { framing } = this.options
    if (framing !== undefined && (media === framing.media || media === "")) {
      this.phase = "frames"
      this.parser = framing.makeParser()
      this.expiresAtMillis = this.endsAtMillis
      this.options.resume(Effect.succeed({ _tag: "Frames", frames: this.frames, readRest: () => this.readRest() }))
    } else if (isJson(media)) {
      this.phase = "json"
      this.expireIn(this.silenceMillis)
    } else this.giveUp(broken(`The provider answered with content of type ${media}.`))
  }

  onResponseData(controller: Dispatcher.DispatchController, packet: Buffer): void {
    switch (this.phase) {
      case "frames":
        return this.readFrames(controller, packet)
      case "json":
        this.collect(packet)
        if (this.bytes > maxAnswerBytes) return this.giveUp(broken("The provider's answer is too large."))
        this.expiresAtMillis = Math.min(this.options.deadlines.nowMillis() + this.silenceMillis, this.endsAtMillis)
        return
      case "error":
        this.collect(packet.subarray(0, maxErrorBytes - this.bytes))
        if (this.bytes >= maxErrorBytes) this.giveUp(broken("The provider's error is too large."))
    }
  }

  onResponseEnd(): void {
    const { phase } = this
    this.finish()
    if (phase === "json") this.options.resume(jsonAnswer(this.body))
    else if (phase === "error") this.options.resume(Effect.fail(this.errorFailure()))
    else if (phase === "frames" && this.parser !== undefined) this.endFrames(this.parser.end(), Cause.done())
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    if (this.phase !== "over") this.fail(connectionFailure(cause))
  }

  expire(): void {
    if (this.phase === "headers") return this.giveUp(transient("timeout", "The provider did not answer in time."))
    const isLate = this.options.deadlines.nowMillis() >= this.endsAtMillis
    this.giveUp(transient("timeout", isLate ? "The provider took too long to answer." : "The provider fell silent."))
  }

  /**
   * The frames that have arrived since the last pull. Only the time that we spend waiting for the provider counts as
   * silence: a client that reads slowly is not the provider's fault.
   */
  private readonly frames: Pull.Pull<Frames, Failure> = Effect.suspend((): Pull.Pull<Frames, Failure> => {
    const { queued } = this
    if (Arr.isArrayNonEmpty(queued)) {
      this.queued = []
      this.bytes = 0
      this.controller?.resume()
      return Effect.succeed(queued)
    }
    return this.end ?? this.nextFrames
  })

  private readonly nextFrames: Pull.Pull<Frames, Failure> = Effect.callback((resume) => {
    this.waiter = resume
    this.expireIn(this.silenceMillis)
    return Effect.sync(() => {
      this.waiter = undefined
      this.expiresAtMillis = this.endsAtMillis
    })
  })

  private readFrames(controller: Dispatcher.DispatchController, packet: Buffer): void {
    const read = this.parser?.read([packet]) ?? Result.succeed([])
    if (Result.isFailure(read)) return this.giveUp(read.failure)
    const frames = read.success
    const { waiter } = this
    if (waiter === undefined) {
      this.queued.push(...frames)
      this.bytes += packet.length
      if (this.bytes > maxQueuedBytes) controller.pause()
    } else if (Arr.isReadonlyArrayNonEmpty(frames)) {
      this.waiter = undefined
      this.expiresAtMillis = this.endsAtMillis
      waiter(Effect.succeed(frames))
    } else this.expiresAtMillis = Math.min(this.options.deadlines.nowMillis() + this.silenceMillis, this.endsAtMillis)
  }

  private endFrames(
    last: Result.Result<ReadonlyArray<ProviderFrame>, Failure>,
    end: Effect.Effect<never, Failure | Cause.Done>
  ): void {
    this.end = Result.isFailure(last) ? Effect.fail(last.failure) : end
    if (Result.isSuccess(last)) this.queued.push(...last.success)
    const { waiter } = this
    this.waiter = undefined
    waiter?.(this.frames)
  }

  private readRest(): void {
    if (this.phase !== "frames") return
    this.phase = "rest"
    this.expireIn(Duration.toMillis(endTimeout))
    this.controller?.resume()
  }

  /** Fails the call, and disconnects the provider. */
  private giveUp(failure: Failure): void {
    this.fail(failure)
    this.controller?.abort(new Error("The call was given up"))
  }

  private fail(failure: Failure): void {
    const { phase } = this
    this.finish()
    if (phase === "frames") this.endFrames(Result.succeed([]), Effect.fail(failure))
    // An error's body may be cut off, and is classified by what arrived of it.
    else if (phase === "error") this.options.resume(Effect.fail(this.errorFailure()))
    else if (phase !== "rest") this.options.resume(Effect.fail(failure))
  }

  private finish(): void {
    this.phase = "over"
    this.options.deadlines.forget(this)
    this.onOver?.()
  }

  private expireIn(millis: number): void {
    this.expiresAtMillis = Math.min(this.options.deadlines.nowMillis() + millis, this.endsAtMillis)
    this.options.deadlines.watch(this)
  }

  private collect(packet: Buffer): void {
    this.body.push(packet)
    this.bytes += packet.length
  }

  private errorFailure(): Failure {
    return this.options.failure({ status: this.status, headers: joined(this.headers), body: bodyText(this.body) })
  }
}
