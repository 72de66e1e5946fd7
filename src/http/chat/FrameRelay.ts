/**
 * Hands the frames of a stream to the response, and keep-alive comments between them. A fiber of its own reads the
 * frames, because a comment has to go out while it waits; it is one packet ahead of the client at most.
 *
 * That fiber is what is left of Effect on this path: each packet takes two suspensions, of the fiber that reads and of
 * the one that writes. `Stream.merge`, which did the same, took four, and twice the operations.
 */
import { type Array as Arr, Cause, type Clock, Effect, Exit, type Pull } from "effect"

import { keepAliveComment } from "./ChatAnswer.ts"

/** A piece of the response body that is written in one go: one or more whole `data:` lines, or a comment. */
export interface StreamFrame {
  readonly text: string
  /** Present on the last frame: the answer is complete and charged, or it broke off. */
  readonly end?: "settled" | "broken"
}

/** The bytes of the body, or its end. */
type BodyPull = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>>

export class FrameRelay {
  private readonly clock: Clock.Clock
  /** What was last sent, or the beginning, in milliseconds since 1970. */
  silentSinceMillis: number
  private text = ""
  private end: BodyPull | undefined
  private onText: ((body: BodyPull) => void) | undefined
  private onTaken: (() => void) | undefined

  constructor(clock: Clock.Clock) {
    this.clock = clock
    this.silentSinceMillis = clock.currentTimeMillisUnsafe()
  }

  /** Takes the frames of a packet, and waits until those of the one before are on their way. */
  put(frames: ReadonlyArray<StreamFrame>): Effect.Effect<void> {
    this.silentSinceMillis = this.clock.currentTimeMillisUnsafe()
    for (const { end, text } of frames) {
      this.text += text
      if (end !== undefined) this.end ??= Cause.done()
    }
    this.wake()
    return this.text === "" ? Effect.void : this.taken
  }

  /** The reader of the frames has ended. */
  close(exit: Exit.Exit<void>): void {
    this.end ??= Exit.isSuccess(exit) ? Cause.done() : Effect.failCause(exit.cause)
    this.wake()
  }

  /** Nothing follows the last frame, and nothing else is needed while something waits to be sent. */
  comment(): void {
    this.silentSinceMillis = this.clock.currentTimeMillisUnsafe()
    if (this.end !== undefined || this.text !== "") return
    this.text = keepAliveComment
    this.wake()
  }

  /** The body of the response. */
  readonly body: BodyPull = Effect.suspend((): BodyPull => {
    if (this.text !== "") return this.take()
    return this.end ?? this.nextText
  })

  private readonly nextText: BodyPull = Effect.callback((resume) => {
    this.onText = resume
    return Effect.sync(() => {
      this.onText = undefined
    })
  })

  private readonly taken: Effect.Effect<void> = Effect.callback((resume) => {
    this.onTaken = () => resume(Effect.void)
  })

  private take(): BodyPull {
    const { onTaken, text } = this
    this.text = ""
    this.onTaken = undefined
    onTaken?.()
    return Effect.succeed([Buffer.from(text)])
  }

  private wake(): void {
    const { onText } = this
    this.onText = undefined
    onText?.(this.body)
  }
}
