/**
 * A receipt as a row of the request log. What has a column of its own is not repeated in the JSON beside the columns;
 * the view `request_receipt` puts both together again.
 */
import type { Receipt } from "./Receipt.ts"
import { encodeDetail, storableText } from "./StoredReceipt.ts"

type Value = string | number | bigint | boolean | undefined

interface LogColumn {
  readonly name: string
  readonly type: string
  readonly value: (receipt: Receipt) => Value
}

const column = (name: string, type: string, value: LogColumn["value"]): LogColumn => ({ name, type, value })

/** A whole number that fits into the column. Receipts of early versions may have what a provider made up. */
const whole = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.min(Math.round(value), Number.MAX_SAFE_INTEGER)

/** All columns but `at`, which the database takes from the id. */
export const logColumns: ReadonlyArray<LogColumn> = [
  column("id", "uuid", (receipt) => receipt.id),
  column("organization_id", "uuid", (receipt) => receipt.organization),
  column("project_id", "uuid", (receipt) => receipt.project),
  column("environment_id", "uuid", (receipt) => receipt.environment),
  column("api_key_id", "uuid", (receipt) => receipt.key),
  column("cost", "bigint", (receipt) => receipt.cost),
  column("provider_cost", "bigint", (receipt) => receipt.providerCost),
  column("held", "bigint", (receipt) => receipt.held),
  column("duration_millis", "float8", (receipt) => receipt.durationMillis),
  column("first_output_millis", "float8", (receipt) => receipt.firstOutputMillis),
  column("input_tokens", "bigint", ({ usage }) => whole(usage?.input)),
  column("cache_read_tokens", "bigint", ({ usage }) => whole(usage?.cacheRead)),
  column("cache_write_5m_tokens", "bigint", ({ usage }) => whole(usage?.cacheWrite5m)),
  column("cache_write_1h_tokens", "bigint", ({ usage }) => whole(usage?.cacheWrite1h)),
  column("audio_input_tokens", "bigint", ({ usage }) => whole(usage?.audioInput)),
  column("output_tokens", "bigint", ({ usage }) => whole(usage?.output)),
  column("reasoning_tokens", "bigint", ({ usage }) => whole(usage?.reasoning)),
  column("audio_millis", "bigint", ({ usage }) => whole(usage?.audioMillis)),
  column("attempts", "integer", (receipt) => receipt.attempts.length),
  column("stream", "boolean", (receipt) => receipt.stream),
  column("routed", "boolean", (receipt) => receipt.routing !== undefined),
  column("pinned", "boolean", (receipt) => receipt.routing?.pinned ?? false),
  column("usage_estimated", "boolean", (receipt) => receipt.usageEstimated),
  column("outcome", "text", (receipt) => receipt.outcome),
  column("catalog_version", "text", (receipt) => receipt.catalogVersion),
  column("model", "text", (receipt) => receipt.served?.model),
  column("endpoint", "text", (receipt) => receipt.served?.endpoint),
  column("requested_model", "text", (receipt) => receipt.requestedModel),
  column("call_name", "text", (receipt) => receipt.callName),
  column("end_user_id", "text", (receipt) => receipt.endUserId),
  column("detail", "json", encodeDetail)
]

/** Stands for null, because the client cannot send an array in which every item is null. No column has empty text. */
const empty = ""

/** The column as an array of text, one item for each receipt. */
const itemsOf = ({ type, value }: LogColumn, batch: ReadonlyArray<Receipt>): ReadonlyArray<string> =>
  batch.map((receipt) => {
    const text = String(value(receipt) ?? empty)
    return type === "text" ? storableText(text) : text
  })

/** The parameters of `insertReceipts`. */
export const logParameters = (batch: ReadonlyArray<Receipt>): ReadonlyArray<ReadonlyArray<string>> =>
  logColumns.map((one) => itemsOf(one, batch))

const names = logColumns.map(({ name }) => name)

/** What identifies a row and never changes. */
const fixed = ["id", "organization_id"]

/**
 * Stores receipts, one parameter for each column. A request that ran twice under one id has one row: that of the run
 * that was charged, or else of the last. `replacing` says which of the new receipts may take the place of a stored one
 * that cost nothing.
 */
const insertReceipts = (replacing: string): string => `
INSERT INTO logged_request (at, ${names.join(", ")})
SELECT DISTINCT ON (id) request_time(id), ${names.join(", ")}
FROM (
  SELECT ${logColumns.map(({ name, type }) => `NULLIF(${name}, '')::${type} AS ${name}`).join(", ")}, position
  FROM unnest(${logColumns.map((_, index) => `$${index + 1}::text[]`).join(", ")})
    WITH ORDINALITY AS t(${names.join(", ")}, position)
) AS batch
ORDER BY id, cost = 0, CASE WHEN cost = 0 THEN -position ELSE position END
ON CONFLICT (at, id) DO UPDATE SET
  ${names
    .filter((name) => !fixed.includes(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")}
WHERE logged_request.cost = 0 AND logged_request.organization_id = excluded.organization_id AND ${replacing}`

/** Stores the latest receipts. */
export const insertLatest = insertReceipts("true")

/** Stores receipts that may be older than the stored ones. */
export const insertEarlier = insertReceipts("excluded.cost <> 0")
