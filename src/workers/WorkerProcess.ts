/** The process of one worker, as the primary sees it. */
import cluster, { type Worker } from "node:cluster"
import { join } from "node:path"

import { Clock, type Duration, Effect } from "effect"

import type { PrimaryMessage } from "./WorkerMessages.ts"
import { argumentsOf, type WorkerSlot } from "./WorkerSlot.ts"

/** How a worker ended. */
export interface WorkerEnd {
  readonly exitCode: number | null
  readonly signal: string | null
  /** How long it listened; undefined if it never did. */
  readonly servedMillis: number | undefined
}

export interface WorkerProcess {
  readonly slot: number
  readonly worker: Worker
  readonly end: Effect.Effect<WorkerEnd>
}

interface WorkerOptions {
  readonly slot: WorkerSlot
  /** The port that the workers share. */
  readonly port: number
  /** How long it may take to stop. */
  readonly killAfter: Duration.Duration
  readonly onListening: (process: WorkerProcess) => void
  readonly onEnd: (process: WorkerProcess, end: WorkerEnd) => void
}

/**
 * Workers share the listening socket itself and accept from its one queue: no connection is on its way between two
 * processes when one of them ends, and a worker that stops leaves the connections that wait to the others.
 */
export const shareSockets = (): void => {
  cluster.schedulingPolicy = cluster.SCHED_NONE
}

/** Starts a worker, which is stopped when the scope closes. */
export const startedWorker = ({ killAfter, onEnd, onListening, port, slot }: WorkerOptions) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      cluster.setupPrimary({ exec: join(import.meta.dirname, "../launch.ts"), args: [...argumentsOf(slot)] })
      const worker = cluster.fork()
      const waiting = new Set<(end: WorkerEnd) => void>()
      let listensSince: number | undefined
      let ended: WorkerEnd | undefined
      const end = Effect.callback<WorkerEnd>((resume) => {
        const finish = (known: WorkerEnd): void => resume(Effect.succeed(known))
        if (ended !== undefined) return finish(ended)
        waiting.add(finish)
        return Effect.sync(() => waiting.delete(finish))
      })
      const started: WorkerProcess = { slot: slot.slot, worker, end }
      const finishAll = (exitCode: number | null, signal: string | null): void => {
        if (ended !== undefined) return
        const servedMillis = listensSince === undefined ? undefined : clock.currentTimeMillisUnsafe() - listensSince
        ended = { exitCode, signal, servedMillis }
        onEnd(started, ended)
        for (const finish of waiting) finish(ended)
      }
      worker.on("listening", (address) => {
        if (address.port !== port) return
        listensSince = clock.currentTimeMillisUnsafe()
        onListening(started)
      })
      worker.once("exit", finishAll)
      // A message to a process that has just ended fails as well, and its end is reported by `exit`.
      worker.on("error", () => worker.process.pid === undefined && finishAll(null, null))
      return started
    }),
    (started) => stopped(started, killAfter)
  )

/** Asks it to stop, as an orchestrator does, and waits until it has. A worker that hangs is killed. */
const stopped = ({ end, worker }: WorkerProcess, killAfter: Duration.Duration) =>
  Effect.suspend(() => {
    if (!worker.isDead()) worker.process.kill("SIGTERM")
    return end.pipe(
      Effect.timeoutOrElse({
        duration: killAfter,
        orElse: () =>
          Effect.andThen(
            Effect.sync(() => worker.process.kill("SIGKILL")),
            end
          )
      })
    )
  })

export const sendTo = ({ worker }: WorkerProcess, message: PrimaryMessage): void => {
  if (worker.isConnected()) worker.process.send(message, () => {})
}
