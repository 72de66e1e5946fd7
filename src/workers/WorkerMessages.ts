/** What the primary and its workers send each other: who is scraped asks for the metrics of all the others. */

/** From a worker to the primary. */
export type WorkerMessage =
  /** Asks for the metrics of all other workers. */
  | { readonly type: "collect"; readonly id: number }
  /** Answers `report`. */
  | { readonly type: "reported"; readonly id: number; readonly text: string }

/** From the primary to a worker. */
export type PrimaryMessage =
  /** Asks for the metrics of this worker. */
  | { readonly type: "report"; readonly id: number }
  /** Answers `collect`. */
  | ({ readonly type: "collected"; readonly id: number } & Collection)

/** The metrics of the other workers. */
export interface Collection {
  readonly reports: ReadonlyArray<WorkerReport>
  /** How often the worker of each slot has been started again. */
  readonly restarts: ReadonlyArray<number>
}

export interface WorkerReport {
  readonly slot: number
  /** Metrics of one process, in the text format of Prometheus. */
  readonly text: string
}
