/**
 * One request in flight. The HTTP client calls its methods as the answer arrives: a plain answer is collected and
 * parsed, and a stream is split into frames, without anything of Effect for a packet. The caller's fiber is resumed
 * once, with the whole answer or when a stream has begun. Whoever reads the stream is called when there are frames.
 *
 * Whatever was queued is bounded: a stream that is read more slowly than it arrives is paused.
 */
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Duration, Effect, Result } from "effect"

import { broken, type Failure } from "../../domain/Failure.ts"
import type { Deadline, Deadlines } from "../../timing/Deadlines.ts"
import type { ErrorResponse, ProviderFrame } from "../protocols/Protocol.ts"
import { CallTimes } from "./CallTimes.ts"
import { connectionFailure } from "./ConnectionFailure.ts"
import { FrameQueue } from "./FrameQueue.ts"
import {
  bodyText,
  isJson,
  jsonAnswer,
  joined,
  mediaOf,
  type OpenedAnswer,
  type ReceivedHeaders
} from "./ReceivedAnswer.ts"
import type { FrameParser } from "./SseFrames.ts"
import type { Timeouts } from "./Timeouts.ts"

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
  /** The largest plain answer. */
  readonly maxAnswerBytes: number
  /** Until the headers of the answer arrive. */
  readonly firstByte: Duration.Duration
  /** How a streamed answer is framed. Without it, a plain answer is expected. */
  readonly framing?: {
    readonly media: string
    readonly makeParser: () => FrameParser
    /** Until the first output of the stream, from the start of the request. */
    readonly firstOutput: Duration.Duration
  }
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
  private readonly times: CallTimes
  private phase: Phase = "headers"
  private controller: Dispatcher.DispatchController | undefined
  private status = 0
  private headers: ReceivedHeaders = {}
  private readonly body: Array<Buffer> = []
  private bytes = 0
  private parser: FrameParser | undefined
  private readonly queue = new FrameQueue()
  private onOver: (() => void) | undefined

  constructor(options: ProviderCallOptions) {
    const { deadlines, firstByte, framing, timeouts } = options
    this.options = options
    this.times = new CallTimes(timeouts, deadlines.nowMillis, framing?.firstOutput)
    this.expiresAtMillis = this.times.in(Duration.toMillis(firstByte))
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
      this.expiresAtMillis = this.times.latestMillis
      this.options.resume(Effect.succeed({ _tag: "Frames", frames: this }))
    } else if (isJson(media)) {
      this.phase = "json"
      this.expireIn(this.times.silenceMillis)
    } else this.giveUp(broken(`The provider answered with content of type ${media}.`))
  }

  onResponseData(controller: Dispatcher.DispatchController, packet: Buffer): void {
    switch (this.phase) {
      case "frames":
        return this.readFrames(controller, packet)
      case "json":
        this.collect(packet)
        if (this.bytes > this.options.maxAnswerBytes) return this.giveUp(broken("The provider's answer is too large."))
        return this.heard()
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
    else if (phase === "frames" && this.parser !== undefined) this.endFrames(this.parser.end(), undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    if (this.phase !== "over") this.fail(connectionFailure(cause))
  }

  expire(): void {
    this.giveUp(this.times.failure({ isAnswered: this.phase !== "headers" }))
  }

  /** The frames of a stream that have arrived since the last read. */
  read(): ReadonlyArray<ProviderFrame> | "over" | undefined {
    const frames = this.queue.read()
    if (frames !== undefined && frames !== "over") {
      this.bytes = 0
      this.controller?.resume()
    }
    return frames
  }

  /** Only the time that we wait for the provider counts as silence: that a client reads slowly is not its fault. */
  whenReady(ready: () => void): void {
    if (!this.queue.isAwaited && this.phase === "frames") this.expireIn(this.times.silenceMillis)
    this.queue.await(ready)
  }

  readonly failure = (): Failure | undefined => this.queue.failure

  /** From now on only the limits of the whole call hold, and that of its silences. */
  outputBegan(): void {
    this.times.outputBegan()
    // The end of the stream may have been read already, and then its rest has a limit of its own.
    if (this.phase === "frames") this.expiresAtMillis = this.times.latestMillis
  }

  private readFrames(controller: Dispatcher.DispatchController, packet: Buffer): void {
    const read = this.parser?.read([packet]) ?? Result.succeed([])
    if (Result.isFailure(read)) return this.giveUp(read.failure)
    const { isAwaited } = this.queue
    this.queue.put(read.success)
    if (!isAwaited) {
      this.bytes += packet.length
      if (this.bytes > maxQueuedBytes) controller.pause()
    } else if (read.success.length === 0) this.heard()
    else this.wake()
  }

  private endFrames(last: Result.Result<ReadonlyArray<ProviderFrame>, Failure>, failure: Failure | undefined): void {
    if (Result.isSuccess(last)) this.queue.put(last.success)
    this.queue.end(Result.isFailure(last) ? last.failure : failure)
    this.wake()
  }

  private wake(): void {
    this.expiresAtMillis = this.times.latestMillis
    this.queue.wake()
  }

  private heard(): void {
    this.expiresAtMillis = this.times.in(this.times.silenceMillis)
  }

  /** What follows in the stream does not matter: the response is read to its end, so that its socket is kept. */
  readRest(): void {
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
    if (phase === "frames") this.endFrames(Result.succeed([]), failure)
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
    this.expiresAtMillis = this.times.in(millis)
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
