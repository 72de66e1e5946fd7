/** Wakes the deliveries of this process, so that what it has just queued is sent at once. */
import { Context, Effect, Layer, Queue } from "effect"

export class AlertSignal extends Context.Service<
  AlertSignal,
  {
    readonly notify: Effect.Effect<void>
    /** Until `notify`, also if that was before. */
    readonly wait: Effect.Effect<void>
  }
>()("tollgate/alerts/AlertSignal") {
  static readonly layer = Layer.effect(
    AlertSignal,
    Effect.map(Queue.sliding<void>(1), (queue) =>
      AlertSignal.of({ notify: Effect.asVoid(Queue.offer(queue, undefined)), wait: Queue.take(queue) })
    )
  )
}
