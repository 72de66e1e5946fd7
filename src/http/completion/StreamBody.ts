/**
 * The body of a streamed response: the texts of an answer as they arrive, and keep-alive comments while it is silent.
 *
 * The server pulls it in the request's own fiber, and a packet is read, decoded, metered and encoded within that pull.
 * What is left of Effect for a packet is the pull itself, its one wait, and the loop of the server around them: about
 * ten operations. Without them we would write to the socket ourselves, and do again what the server does about slow
 * clients, lost ones and the end of the response.
 */
import { type Array as Arr, Cause, Effect, Exit, type Fiber, type Pull, Scope } from "effect"

import type { AnswerTexts, LastText } from "../../idempotency/Recording.ts"
import type { Deadline, Deadlines } from "../../timing/Deadlines.ts"

/** The bytes of the body, or its end. */
type BodyPull = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>>

export interface StreamBodyOptions {
  readonly deadlines: Deadlines
  /** What the client is sent during a silence. */
  readonly keepAlive: string
  /** How long a silence may last before it is sent. */
  readonly keepAliveMillis: number
  /** The scope of the request. */
  readonly scope: Scope.Scope
}

export class StreamBody implements Deadline {
  expiresAtMillis = 0
  private readonly options: StreamBodyOptions
  private texts: AnswerTexts | undefined
  private last: Fiber.Fiber<LastText> | undefined
  private owesComment = false
  private isOver = false
  private resume: ((body: BodyPull) => void) | undefined

  constructor(options: StreamBodyOptions) {
    this.options = options
  }

  /** To be run when the response begins: keeps the connection alive for as long as the scope is open. */
  readonly start: Effect.Effect<void> = Effect.suspend(() => {
    const { deadlines, scope } = this.options
    this.heard()
    deadlines.watch(this)
    return Scope.addFinalizer(
      scope,
      Effect.sync(() => deadlines.forget(this))
    )
  })

  /** The answer, which may come after the response has begun. */
  begin(texts: AnswerTexts): void {
    this.texts = texts
    this.wake()
  }

  /** Sends a comment when the client next waits for something, or now if it does. */
  comment(): void {
    this.owesComment = true
    this.wake()
  }

  /** Nothing was sent for as long as a silence may last, unless the client has not taken what was. */
  expire(): void {
    this.heard()
    this.options.deadlines.watch(this)
    if (this.resume !== undefined) this.comment()
  }

  /** The next bytes of the body. */
  readonly pull: BodyPull = Effect.suspend((): BodyPull => {
    if (this.isOver) return Cause.done()
    if (this.owesComment) {
      this.owesComment = false
      return this.send(this.options.keepAlive)
    }
    if (this.last !== undefined) return this.lastText(this.last)
    const packet = this.texts?.read()
    if (packet === undefined) return this.wait
    if (packet !== "over") return this.send(packet.length === 1 ? (packet[0] ?? "") : packet.join(""))
    return Effect.flatMap(this.endTexts, () => this.pull)
  })

  /** A fiber of its own runs the end, because comments have to go out while it charges the answer. */
  private readonly endTexts: Effect.Effect<void> = Effect.suspend(() =>
    this.texts === undefined
      ? Effect.void
      : Effect.map(Effect.forkIn(this.texts.end(), this.options.scope), (fiber) => {
          this.last = fiber
          fiber.addObserver(this.wake)
        })
  )

  private lastText(fiber: Fiber.Fiber<LastText>): BodyPull {
    const exit = fiber.pollUnsafe()
    if (exit === undefined) return this.wait
    this.isOver = true
    this.options.deadlines.forget(this)
    return Exit.isSuccess(exit) ? this.send(exit.value.text) : Effect.failCause(exit.cause)
  }

  private readonly wait: BodyPull = Effect.callback((resume) => {
    this.resume = resume
    if (this.last === undefined) this.texts?.whenReady(this.wake)
    return Effect.sync(() => {
      this.resume = undefined
    })
  })

  private readonly wake = (): void => {
    const { resume } = this
    this.resume = undefined
    resume?.(this.pull)
  }

  private send(text: string): BodyPull {
    this.heard()
    return Effect.succeed([Buffer.from(text)])
  }

  private heard(): void {
    const { deadlines, keepAliveMillis } = this.options
    this.expiresAtMillis = deadlines.nowMillis() + keepAliveMillis
  }
}
