/** Keeps a number of workers running, in one fiber per slot, until it is interrupted. */
import { Data, Deferred, Duration, Effect } from "effect"

import { makeMetricCollector } from "./MetricCollector.ts"
import { failuresInARow, restartDelay } from "./Restarts.ts"
import type { WorkerMessage } from "./WorkerMessages.ts"
import { shareSockets, startedWorker, type WorkerEnd, type WorkerProcess } from "./WorkerProcess.ts"

/** No worker serves, and one could not start: what stops it is in its own log line. */
export class WorkerStartError extends Data.TaggedError("WorkerStartError")<{ readonly message: string }> {}

/** Beyond `SHUTDOWN_TIMEOUT`, workers write what is left to charge and release what they hold. */
const timeToSettle = Duration.seconds(20)

export interface SupervisorOptions {
  readonly count: number
  readonly port: number
  readonly shutdownTimeout: Duration.Duration
}

/** Never ends by itself, but fails when no worker is left that serves and one cannot start. */
export const supervised = Effect.fnUntraced(function* ({ count, port, shutdownTimeout }: SupervisorOptions) {
  shareSockets()
  const killAfter = Duration.sum(shutdownTimeout, timeToSettle)
  const firstListens = yield* Deferred.make<void>()
  const listening = new Set<WorkerProcess>()
  const restarts = Array.from({ length: count }, () => 0)
  const { forget, receive } = makeMetricCollector(listening, restarts)

  const log = Effect.runForkWith(yield* Effect.context<never>())
  const onListening = (started: WorkerProcess): void => {
    listening.add(started)
    log(
      Effect.logInfo("A worker listens").pipe(
        Effect.annotateLogs({ worker: started.slot, pid: started.worker.process.pid })
      )
    )
    started.worker.on("message", (message: WorkerMessage) => receive(started, message))
    Deferred.doneUnsafe(firstListens, Effect.void)
  }
  const onEnd = (started: WorkerProcess): void => {
    listening.delete(started)
    forget(started)
  }

  /** Runs one process from its start to its end. */
  const ran = (slot: number, isFirst: boolean) =>
    Effect.flatMap(
      startedWorker({ slot: { slot, count, isFirst }, port, killAfter, onListening, onEnd }),
      ({ end }) => end
    ).pipe(Effect.scoped)

  const kept = Effect.fnUntraced(function* (slot: number) {
    // The first one migrates the database alone, and what stops a start is logged once.
    if (slot > 0) yield* Deferred.await(firstListens)
    for (let failures = 0; ; restarts[slot] = (restarts[slot] ?? 0) + 1) {
      const end = yield* ran(slot, slot === 0 && restarts[slot] === 0)
      if (end.servedMillis === undefined && listening.size === 0) return yield* Effect.fail(startError(slot, end))
      failures = failuresInARow(failures, end.servedMillis)
      const delay = restartDelay(failures)
      yield* logEnd(slot, end, failures, delay)
      yield* Effect.sleep(delay)
    }
  })

  return yield* Effect.forEach(restarts.keys(), kept, { concurrency: "unbounded", discard: true })
})

const startError = (slot: number, { exitCode, signal }: WorkerEnd) =>
  new WorkerStartError({
    message: `worker ${slot} ended with ${signal ?? `exit code ${exitCode}`} before it listened, and no other serves`
  })

const logEnd = (slot: number, end: WorkerEnd, failures: number, delay: Duration.Duration) =>
  Effect.logWarning("A worker ended; another is started in its place").pipe(
    Effect.annotateLogs({
      worker: slot,
      ...(end.signal === null ? { exitCode: end.exitCode } : { signal: end.signal }),
      ...(end.servedMillis !== undefined && { servedMillis: end.servedMillis }),
      failures,
      delayMillis: Duration.toMillis(delay)
    })
  )
