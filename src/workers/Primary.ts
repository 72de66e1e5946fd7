/**
 * What runs when `WORKERS` asks for more than one process: it starts the workers, which are gateways that share one
 * port, and starts them again when they end. It loads nothing of the gateway itself, so that it stays small and has
 * next to nothing that could fail.
 */
import { availableParallelism } from "node:os"

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, ConfigProvider, Effect, Exit } from "effect"

import { environment, type Settings, settings } from "../Config.ts"
import { SettingsError } from "../config/Variables.ts"
import { requireFreeSocket } from "../network/FreeSocket.ts"
import { logFatal } from "../observability/ErrorDescription.ts"
import { stdoutLogLayer } from "../observability/StdoutLog.ts"
import { supervised } from "./Supervisor.ts"

/** How many workers there are. The embedded engine belongs to one process. */
export const workerCount = ({
  database: { url },
  workers
}: Pick<Settings, "database" | "workers">): Effect.Effect<number, SettingsError> => {
  if (workers === "auto") return Effect.succeed(url === undefined ? 1 : availableParallelism())
  if (workers === 1 || url !== undefined) return Effect.succeed(workers)
  return Effect.fail(
    new SettingsError({
      message:
        `WORKERS: the embedded engine runs inside one process, so there cannot be ${workers}. ` +
        "Set DATABASE_URL to a PostgreSQL, or WORKERS to 1 or auto"
    })
  )
}

/** The gateway in this process, as without `WORKERS`. */
const alone: Effect.Effect<void, unknown> = Effect.flatMap(
  Effect.promise(() => import("../main.ts")),
  ({ run }) => run()
)

const withWorkers = (options: Settings, count: number) =>
  requireFreeSocket(options).pipe(
    Effect.andThen(supervised({ ...options, count })),
    Effect.tapCause(logFatal),
    Effect.onInterrupt(() => Effect.annotateLogs(Effect.logInfo("Tollgate has stopped"), { exitCode: 0 })),
    Effect.provide(stdoutLogLayer(options))
  )

const program = Effect.gen(function* () {
  const options = yield* settings
  return { options, count: yield* workerCount(options) }
}).pipe(
  Effect.tapCause(logFatal),
  Effect.flatMap(({ count, options }): Effect.Effect<void, unknown> =>
    count === 1 ? alone : withWorkers(options, count)
  ),
  Effect.provide(ConfigProvider.layer(environment))
)

/** Runs the gateway with its workers until it is stopped. */
export const startPrimary = (): void =>
  NodeRuntime.runMain(program, {
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
  })
