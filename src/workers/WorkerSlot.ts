/**
 * The place of a worker among the processes of one gateway. The place outlives its process: whoever is started after a
 * worker that died gets the same one. It is passed on the command line, where operators see it in a list of processes.
 */
export interface WorkerSlot {
  /** From 0. */
  readonly slot: number
  /** How many workers the gateway has. */
  readonly count: number
  /** It starts alone, migrates the database and logs where the gateway listens. */
  readonly isFirst: boolean
}

const command = "worker"

/** The arguments of a worker's process: `worker 0 of 4 first`. */
export const argumentsOf = ({ count, isFirst, slot }: WorkerSlot): ReadonlyArray<string> => [
  command,
  String(slot),
  "of",
  String(count),
  ...(isFirst ? ["first"] : [])
]

/** The opposite; undefined if this process is no worker. */
export const slotIn = ([name, slot, , count, first]: ReadonlyArray<string>): WorkerSlot | undefined =>
  name === command ? { slot: Number(slot), count: Number(count), isFirst: first === "first" } : undefined
