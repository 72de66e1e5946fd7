/**
 * Every request that left a receipt or a charge, with all that is stored of it, in order of id. Read in pages by key,
 * so that the memory it takes is that of one page, however long the history is.
 */
import { Duration, Effect, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"

import { organizationId, requestId } from "../domain/Ids.ts"
import { picodollars } from "../domain/Money.ts"
import { leaseLifetime } from "../ledger/Lease.ts"
import * as PriceList from "../receipts/PriceList.ts"
import * as StoredReceipt from "../receipts/StoredReceipt.ts"
import type { RequestRecords } from "./RequestChecks.ts"

/** Requests in one page. A receipt is a few kilobytes. */
const pageSize = 500

/** How long the parts of a request may take to be stored, on a system that is running. */
const settlingMillis = Duration.toMillis("1 minute")

/** Before every id. */
const start = "00000000-0000-0000-0000-000000000000"

interface Row {
  readonly id: string
  readonly organization_id: string | null
  readonly receipt: unknown
  readonly price: unknown
  readonly charges: ReadonlyArray<{ readonly organization: string; readonly amount: string }> | null
  readonly holds: ReadonlyArray<string> | null
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: number
  readonly charged_at: number | null
  /** Some gateway is running. */
  readonly running: boolean
}

/**
 * Pages are looked up by index until the transaction ends. Left alone, a database that has not yet counted its rows
 * reads whole tables for every page.
 */
const byIndex = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    SELECT set_config(setting, 'off', true)
    FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) AS setting`
)

const page = Effect.fnUntraced(function* (after: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<Row>`
    WITH page AS MATERIALIZED (
      SELECT id FROM (
        (SELECT id FROM request_log WHERE id > ${after}::uuid ORDER BY id LIMIT ${pageSize})
        UNION
        (SELECT id FROM credit_entry WHERE id > ${after}::uuid AND kind = 'charge' ORDER BY id LIMIT ${pageSize})
      ) AS known
      ORDER BY id
      LIMIT ${pageSize}
    )
    SELECT page.id, request_log.organization_id, receipt, price, charges, holds, charged_at,
      extract(epoch FROM now())::float8 * 1000 AS now,
      EXISTS (SELECT 1 FROM gateway_lease WHERE heartbeat_at > now() - ${leaseLifetime}::interval) AS running
    FROM page
    LEFT JOIN request_log USING (id)
    LEFT JOIN price_list
      ON catalog_version = receipt->>'catalogVersion' AND endpoint = receipt->'served'->>'endpoint'
    CROSS JOIN LATERAL (
      SELECT extract(epoch FROM max(at))::float8 * 1000 AS charged_at,
        jsonb_agg(
          jsonb_build_object('organization', organization_id, 'amount', (-amount)::text) ORDER BY organization_id
        ) AS charges
      FROM credit_entry WHERE credit_entry.id = page.id AND kind = 'charge'
    ) AS journal
    CROSS JOIN LATERAL (
      SELECT jsonb_agg(organization_id) AS holds FROM credit_hold WHERE credit_hold.id = page.id
    ) AS open
    ORDER BY page.id`
})

/** What cannot be read is a finding like any other, not the end of the audit. */
const evidenceOf = Effect.fnUntraced(function* (row: Row) {
  const receipt =
    row.receipt === null ? "none" : yield* Effect.orElseSucceed(StoredReceipt.decodeReceipt(row.receipt), unread)
  const price = row.price === null ? undefined : yield* Effect.orElseSucceed(PriceList.decodePrice(row.price), nothing)
  const endedAt = typeof receipt === "object" ? receipt.atMillis + receipt.durationMillis : 0
  return {
    request: requestId(row.id),
    organization: row.organization_id === null ? undefined : organizationId(row.organization_id),
    receipt,
    price,
    charges: (row.charges ?? []).map(({ amount, organization }) => ({
      organization: organizationId(organization),
      amount: picodollars(BigInt(amount))
    })),
    holds: (row.holds ?? []).map((organization) => organizationId(organization)),
    settling: row.running && Math.max(endedAt, row.charged_at ?? 0) > row.now - settlingMillis
  } satisfies RequestRecords
})

const unread = () => "unreadable" as const
const nothing = () => undefined

const pages = Stream.paginate(start, (after) =>
  Effect.gen(function* () {
    const rows = yield* page(after)
    const last = rows.at(-1)
    const evidence = yield* Effect.forEach(rows, evidenceOf)
    return [evidence, last === undefined ? Option.none<string>() : Option.some(last.id)] as const
  })
)

/** To be read in a transaction, which makes it one moment. */
export const requestRecords = Stream.unwrap(Effect.as(byIndex, pages))
