/**
 * The lane in which the batches of the ledger follow one another: one statement at a time, and the next one as soon as
 * there is something to write. It is plain data and callbacks. What is left of Effect is one fiber for each batch,
 * which the driver's statements need: it starts with the statement and is suspended once, until the answer is there.
 * A fiber that lives on between batches would save that one and cost a suspension each time it waits for writes. The
 * driver takes about 28 operations for a statement, which its batch shares: for a span, the pool, and the semaphore of
 * the connection.
 */
import { Cause, type Clock, Context, Duration, Effect, type Exit, type Fiber, Scheduler } from "effect"

import { histogramOf } from "../observability/MetricSeries.ts"
import { metricTable } from "../observability/MetricTable.ts"
import type { PendingWrite } from "./PendingWrite.ts"
import type { PendingWrites } from "./PendingWrites.ts"

/** A batch without an answer after this long counts as failed. */
export const statementTimeout = Duration.seconds(10)
const statementTimeoutMillis = Duration.toMillis(statementTimeout)

const batchSize = histogramOf(metricTable.ledgerBatch)

/** How a batch is written. */
export interface BatchWriter<E> {
  /** One try, which answers each write of the batch. It is interrupted when it takes too long. */
  readonly send: (batch: ReadonlyArray<PendingWrite>) => Effect.Effect<void, E>
  /** Called when a try has failed. Returns once each write has been answered, or put aside to be tried again. */
  readonly recover: (
    batch: ReadonlyArray<PendingWrite>,
    cause: Cause.Cause<E | Cause.TimeoutError>
  ) => Effect.Effect<void>
}

export class BatchLane<E> {
  private readonly clock: Clock.Clock
  private readonly context: Context.Context<never>
  private readonly dispatcher: Scheduler.SchedulerDispatcher
  private readonly writes: PendingWrites
  private readonly writer: BatchWriter<E>
  /** Whether a batch is on its way, or about to be taken. */
  private isBusy = false
  private isStopped = false
  private fiber: Fiber.Fiber<void, E> | undefined
  /** When the statement was sent that has no answer yet, in milliseconds since 1970. */
  private sentAt: number | undefined
  private isLate = false
  private readonly waiting = new Set<() => void>()

  constructor(context: Context.Context<never>, clock: Clock.Clock, writes: PendingWrites, writer: BatchWriter<E>) {
    this.context = context
    this.clock = clock
    this.writes = writes
    this.writer = writer
    this.dispatcher = Context.get(context, Scheduler.Scheduler).makeDispatcher()
  }

  /**
   * Says that something is queued. A lane that is idle takes it in the next turn of the event loop: what arrives in
   * this one is written together.
   */
  wake(): void {
    if (this.isBusy || this.isStopped) return
    this.isBusy = true
    this.dispatcher.scheduleTask(() => this.next(), 0)
  }

  /** Gives up a statement that has had no answer for too long. To be called again and again. */
  checkDeadline(): void {
    if (this.sentAt === undefined || this.isLate) return
    if (this.clock.currentTimeMillisUnsafe() - this.sentAt < statementTimeoutMillis) return
    this.isLate = true
    this.fiber?.interruptUnsafe()
  }

  /** Waits until everything is written that is queued. */
  readonly idle: Effect.Effect<void> = Effect.callback((resume) => {
    if (!this.isBusy) return resume(Effect.void)
    const done = () => resume(Effect.void)
    this.waiting.add(done)
    return Effect.sync(() => this.waiting.delete(done))
  })

  /** Stops for ever, in the middle of a batch if there is one. */
  readonly stop: Effect.Effect<void> = Effect.suspend(() => {
    this.isStopped = true
    const { fiber } = this
    if (fiber === undefined) return Effect.void
    return Effect.callback((resume) => {
      fiber.addObserver(() => resume(Effect.void))
      fiber.interruptUnsafe()
    })
  })

  private next(): void {
    this.fiber = undefined
    while (!this.isStopped && this.writes.size > 0) {
      const taken = this.writes.take()
      batchSize.updateUnsafe(taken.length, this.context)
      const batch = taken.filter((write) => this.writes.isStillNeeded(write))
      if (batch.length > 0) return this.send(batch)
    }
    this.isBusy = false
    for (const done of this.waiting) done()
    this.waiting.clear()
  }

  private send(batch: ReadonlyArray<PendingWrite>): void {
    this.sentAt = this.clock.currentTimeMillisUnsafe()
    this.isLate = false
    this.run(this.writer.send(batch), (exit) => {
      this.sentAt = undefined
      if (exit._tag === "Success" || this.isStopped) return this.next()
      const cause = this.isLate ? Cause.fail(new Cause.TimeoutError("The statement took too long")) : exit.cause
      this.run(this.writer.recover(batch, cause), () => this.next())
    })
  }

  private run<F extends E>(effect: Effect.Effect<void, F>, ended: (exit: Exit.Exit<void, F>) => void): void {
    const fiber = Effect.runForkWith(this.context)(effect)
    this.fiber = fiber
    fiber.addObserver(ended)
  }
}
