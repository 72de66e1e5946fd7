/** The primary's part in a scrape: it passes on the metrics of all workers to the one that was asked for them. */
import type { Collection, WorkerMessage, WorkerReport } from "./WorkerMessages.ts"
import { sendTo, type WorkerProcess } from "./WorkerProcess.ts"

/** A worker that takes longer is left out of the scrape, and counted there. */
const reportMillis = 1_000

interface Round {
  readonly reports: Array<WorkerReport>
  /** The workers that have not reported. */
  readonly open: Set<WorkerProcess>
  readonly finish: () => void
}

/** `listening`: the workers that serve. `restarts`: how often each slot has been started again. */
export const makeMetricCollector = (listening: ReadonlySet<WorkerProcess>, restarts: Collection["restarts"]) => {
  const rounds = new Map<number, Round>()
  let started = 0

  const collect = (asker: WorkerProcess, askerId: number): void => {
    const id = started++
    const reports: Array<WorkerReport> = []
    const timer = setTimeout(() => finish(), reportMillis)
    const finish = (): void => {
      clearTimeout(timer)
      if (rounds.delete(id)) sendTo(asker, { type: "collected", id: askerId, reports, restarts })
    }
    const others = [...listening].filter((worker) => worker !== asker)
    rounds.set(id, { reports, open: new Set(others), finish })
    for (const worker of others) sendTo(worker, { type: "report", id })
    if (others.length === 0) finish()
  }

  /** Nothing more comes from this worker in this round. */
  const close = (round: Round, worker: WorkerProcess): void => {
    if (round.open.delete(worker) && round.open.size === 0) round.finish()
  }

  return {
    receive: (from: WorkerProcess, message: WorkerMessage): void => {
      if (message.type === "collect") return collect(from, message.id)
      const round = rounds.get(message.id)
      if (round?.open.has(from) !== true) return
      round.reports.push({ slot: from.slot, text: message.text })
      close(round, from)
    },
    /** A worker that has ended is not waited for. */
    forget: (worker: WorkerProcess): void => {
      for (const round of rounds.values()) close(round, worker)
    }
  }
}
