/**
 * Every metric of the gateway: its name, its type, its labels and what it says. The table in the documents is made from
 * this one. The rule: the values of labels come from the code or from the catalog, never from a client, so that nobody
 * can make their number grow. No label names an organization, a key or anything that a request holds.
 */

export interface MetricDefinition {
  /** As Prometheus wants it: with the unit, and with `_total` if it is a counter. */
  readonly name: string
  readonly type: "counter" | "gauge" | "histogram"
  readonly help: string
  readonly labels?: ReadonlyArray<string>
  /** Of a histogram: the upper bounds of its buckets. */
  readonly boundaries?: ReadonlyArray<number>
}

/** Seconds, for what takes as long as a model writes. */
const answerSeconds = [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600]
/** Seconds, for what waits for the database. */
const databaseSeconds = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** Seconds, for what is computed. */
const computingSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25]

const served = ["route", "model", "provider"]

const requestMetrics = {
  httpRequests: {
    name: "tollgate_http_requests_total",
    type: "counter",
    help: "Requests that have ended. outcome: completed, failed or aborted (by the client), also of a stream.",
    labels: ["route", "status", "outcome"]
  },
  openRequests: {
    name: "tollgate_http_requests_open",
    type: "gauge",
    help: "Requests whose answers have not been sent completely."
  },
  calls: {
    name: "tollgate_calls_total",
    type: "counter",
    help: "Chats, audio, embeddings. outcome: completed, client_left, broken (after first output) or an error code.",
    labels: [...served, "outcome"]
  },
  callDuration: {
    name: "tollgate_call_duration_seconds",
    type: "histogram",
    help: "From the arrival of such a request to the last byte of its answer, if a model answered.",
    labels: served,
    boundaries: answerSeconds
  },
  firstOutput: {
    name: "tollgate_first_output_seconds",
    type: "histogram",
    help: "From the arrival of a streamed chat to its first output.",
    labels: served,
    boundaries: answerSeconds
  },
  routing: {
    name: "tollgate_routing_duration_seconds",
    type: "histogram",
    help: "How long the router took to choose, for requests that leave the model to it.",
    boundaries: computingSeconds
  },
  tokens: {
    name: "tollgate_tokens_total",
    type: "counter",
    help: "Tokens that were charged. kind: input, cache_read, cache_write, audio_input or output.",
    labels: ["model", "provider", "kind"]
  },
  cost: {
    name: "tollgate_cost_usd_total",
    type: "counter",
    help: "What was charged in USD, as a float: approximate. The journal is exact.",
    labels: ["model", "provider"]
  },
  implausibleUsage: {
    name: "tollgate_implausible_usage_total",
    type: "counter",
    help: "Answers whose provider reported usage that cannot be right."
  },
  uncollectedCharges: {
    name: "tollgate_uncollected_charges_total",
    type: "counter",
    help: "Charges that were cut because the balance of their organization can never go below zero."
  }
} as const satisfies Record<string, MetricDefinition>

const providerMetrics = {
  attempts: {
    name: "tollgate_provider_attempts_total",
    type: "counter",
    help: "Calls of a provider. class: answered, skipped (its breaker is open), or that of the failure.",
    labels: ["provider", "model", "class"]
  },
  failovers: {
    name: "tollgate_failovers_total",
    type: "counter",
    help: "Endpoints that failed, after which the next one was tried.",
    labels: ["provider", "model", "class"]
  },
  breakers: {
    name: "tollgate_circuit_breaker_state",
    type: "gauge",
    help: "0 closed, 1 half open, 2 open.",
    labels: ["provider", "model"]
  },
  refusedAccounts: {
    name: "tollgate_provider_account_refused",
    type: "gauge",
    help: "1 while a provider refuses our account: its key, its quota or its bill.",
    labels: ["provider"]
  }
} as const satisfies Record<string, MetricDefinition>

const storageMetrics = {
  holdDuration: {
    name: "tollgate_hold_duration_seconds",
    type: "histogram",
    help: "How long a request waited for its credit to be held.",
    boundaries: databaseSeconds
  },
  settleDuration: {
    name: "tollgate_settle_duration_seconds",
    type: "histogram",
    help: "How long a charge or refund took to be durable.",
    boundaries: databaseSeconds
  },
  openHolds: {
    name: "tollgate_open_holds",
    type: "gauge",
    help: "Holds of this gateway that are not settled."
  },
  ledgerQueue: {
    name: "tollgate_ledger_queued",
    type: "gauge",
    help: "Holds and settlements that wait for a statement."
  },
  ledgerBatch: {
    name: "tollgate_ledger_batch_size",
    type: "histogram",
    help: "Holds and settlements per statement.",
    boundaries: [1, 4, 16, 64, 256]
  },
  rejectedCharges: {
    name: "tollgate_rejected_charges_total",
    type: "counter",
    help: "Charges that the database rejected and that were set aside for an operator."
  },
  requestLogQueue: {
    name: "tollgate_request_log_queued",
    type: "gauge",
    help: "Receipts that are not stored yet."
  },
  lostReceipts: {
    name: "tollgate_request_log_lost_total",
    type: "counter",
    help: "Receipts that could not be stored: the queue was full, or the database refused them."
  },
  uploads: {
    name: "tollgate_uploads_in_slots",
    type: "gauge",
    help: "Audio files in memory; at most MAX_UPLOADS."
  },
  waitingUploads: {
    name: "tollgate_uploads_waiting",
    type: "gauge",
    help: "Uploads that wait for a slot."
  }
} as const satisfies Record<string, MetricDefinition>

const alertMetrics = {
  deliveries: {
    name: "tollgate_webhook_attempts_total",
    type: "counter",
    help: "Attempts to deliver an alert. outcome: delivered, retried (it is tried again) or failed (it is given up).",
    labels: ["outcome"]
  },
  pendingDeliveries: {
    name: "tollgate_webhook_deliveries_pending",
    type: "gauge",
    help: "Deliveries of all gateways that are queued, as this one last saw them, a minute ago at most."
  }
} as const satisfies Record<string, MetricDefinition>

const processMetrics = {
  build: {
    name: "tollgate_build_info",
    type: "gauge",
    help: "1, with what runs in its labels.",
    labels: ["version", "node", "catalog"]
  },
  eventLoopMean: {
    name: "nodejs_eventloop_lag_mean_seconds",
    type: "gauge",
    help: "How late timers ran on average, over the last ten seconds or more."
  },
  eventLoopP99: {
    name: "nodejs_eventloop_lag_p99_seconds",
    type: "gauge",
    help: "The 99th percentile of the same."
  },
  eventLoopMax: { name: "nodejs_eventloop_lag_max_seconds", type: "gauge", help: "The longest of the same." },
  cpu: { name: "process_cpu_seconds_total", type: "counter", help: "User and system CPU time." },
  startTime: { name: "process_start_time_seconds", type: "gauge", help: "When the process started, since 1970." },
  residentMemory: { name: "process_resident_memory_bytes", type: "gauge", help: "Resident memory." },
  heapTotal: { name: "nodejs_heap_size_total_bytes", type: "gauge", help: "Heap that V8 has reserved." },
  heapUsed: { name: "nodejs_heap_size_used_bytes", type: "gauge", help: "Heap in use." },
  externalMemory: { name: "nodejs_external_memory_bytes", type: "gauge", help: "Memory of buffers, outside the heap." }
} as const satisfies Record<string, MetricDefinition>

/** They are there when a gateway has several workers. */
export const workerMetrics = {
  missingWorkers: {
    name: "tollgate_workers_missing",
    type: "gauge",
    help: "Workers that are not in this scrape: they are being started, or did not answer within a second."
  },
  workerRestarts: {
    name: "tollgate_worker_restarts_total",
    type: "counter",
    help: "How often a worker was started again because it had ended.",
    labels: ["worker"]
  }
} as const satisfies Record<string, MetricDefinition>

/** Every metric, by what the code calls it. */
export const metricTable = {
  ...requestMetrics,
  ...providerMetrics,
  ...storageMetrics,
  ...alertMetrics,
  ...processMetrics,
  ...workerMetrics
}
