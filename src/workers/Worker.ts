/** One worker: the gateway of `main.ts`, which shares its port with the others. */
import * as Main from "../main.ts"
import { workerScrape } from "./WorkerScrape.ts"
import { slotIn } from "./WorkerSlot.ts"

/** Runs the worker that the arguments of this process name, until it is stopped. */
export const startWorker = (): void => {
  const slot = slotIn(process.argv.slice(2))
  if (slot === undefined) throw new Error("This process was not started by a gateway with WORKERS")
  Main.start({
    sharesPort: true,
    announces: slot.isFirst,
    labels: { worker: slot.slot },
    scrape: workerScrape(slot)
  })
}
