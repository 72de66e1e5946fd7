/** A scrape that reaches one worker: it asks the primary for the metrics of the others, and answers with all. */
import { Duration, Effect } from "effect"

import type { MakeScrape } from "../observability/Scrape.ts"
import { mergedMetrics } from "./MergedMetrics.ts"
import type { Collection, PrimaryMessage, WorkerMessage } from "./WorkerMessages.ts"
import type { WorkerSlot } from "./WorkerSlot.ts"

/** Longer than the primary waits for the others. Beyond it, the scrape has this worker alone. */
const primaryTimeout = Duration.seconds(3)

/** A primary that has ended takes this process with it: there is nobody left who could be answered. */
const sendToPrimary = (message: WorkerMessage): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

/** Answers the primary for as long as the scope is open. */
export const workerScrape =
  ({ count, slot }: WorkerSlot): MakeScrape =>
  (own) =>
    Effect.gen(function* () {
      const waiting = new Map<number, (collection: Collection) => void>()
      let collections = 0
      const receive = (message: PrimaryMessage): void => {
        if (message.type === "report") return sendToPrimary({ type: "reported", id: message.id, text: own() })
        waiting.get(message.id)?.(message)
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("message", receive)),
        () => Effect.sync(() => process.off("message", receive))
      )
      const collect = Effect.callback<Collection>((resume) => {
        const id = collections++
        waiting.set(id, (collection) => resume(Effect.succeed(collection)))
        sendToPrimary({ type: "collect", id })
        return Effect.sync(() => waiting.delete(id))
      })
      const nobody: Collection = { reports: [], restarts: Array.from({ length: count }, () => 0) }
      return collect.pipe(
        Effect.timeoutOrElse({ duration: primaryTimeout, orElse: () => Effect.succeed(nobody) }),
        Effect.map(({ reports, restarts }) => mergedMetrics({ reports: [...reports, { slot, text: own() }], restarts }))
      )
    })
