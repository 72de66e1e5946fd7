/**
 * Every request that has a receipt or a charge, with all that is stored about it, in order of id. The rule: a record
 * that cannot be decoded is passed on as unreadable, and never ends the audit.
 */
import { Duration, Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"

import { organizationId, requestId } from "../domain/Ids.ts"
import { picodollars } from "../domain/Money.ts"
import { leaseLifetime } from "../ledger/Lease.ts"
import { decodePrice } from "../receipts/PriceList.ts"
import { eachByItself, receiptIds } from "../receipts/RecentRequests.ts"
import { decodeChargeFacts, decodeReceipt } from "../receipts/StoredReceipt.ts"
import { pagesByKey } from "../sql/Pages.ts"
import type { BookedCharge, RequestRecords } from "./RequestChecks.ts"

/** Requests in one page. A receipt takes a few kilobytes. */
const pageSize = 500

/** For how long after the end of a request its records may be incomplete while a gateway is running. */
const settlingMillis = Duration.toMillis("1 minute")

interface ChargeRow {
  readonly organization: string
  readonly amount: string
  readonly facts: unknown
  readonly price: unknown
}

interface Row {
  readonly id: string
  readonly organization_id: string | null
  readonly receipt: unknown
  readonly price: unknown
  readonly charges: ReadonlyArray<ChargeRow> | null
  readonly holds: ReadonlyArray<string> | null
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: number
  readonly charged_at: number | null
  /** Whether any gateway is running. */
  readonly running: boolean
}

/**
 * Makes PostgreSQL look up pages by index until the transaction ends. A database that has no statistics yet would
 * otherwise read whole tables for every page.
 */
const forceIndexScans = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    SELECT set_config(setting, 'off', true)
    FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']) AS setting`
)

const readPage = Effect.fnUntraced(function* (after: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<Row>`
    WITH page AS MATERIALIZED (
      SELECT id FROM (
        (${receiptIds(sql, after, pageSize)})
        UNION
        (SELECT id FROM credit_entry WHERE id > ${after}::uuid AND kind = 'charge' ORDER BY id LIMIT ${pageSize})
      ) AS known
      ORDER BY id
      LIMIT ${pageSize}
    )
    SELECT page.id, logged.organization_id, receipt, price_list.price, charges, holds, charged_at,
      extract(epoch FROM now())::float8 * 1000 AS now,
      EXISTS (SELECT 1 FROM gateway_lease WHERE heartbeat_at > now() - ${leaseLifetime}::interval) AS running
    FROM page
    LEFT JOIN LATERAL (
      SELECT * FROM request_receipt WHERE request_receipt.at = request_time(page.id) AND request_receipt.id = page.id
      ${sql.literal(eachByItself)}
    ) AS logged ON true
    LEFT JOIN price_list
      ON price_list.catalog_version = logged.catalog_version AND price_list.endpoint = logged.endpoint
    CROSS JOIN LATERAL (
      SELECT extract(epoch FROM max(at))::float8 * 1000 AS charged_at,
        jsonb_agg(
          jsonb_build_object(
            'organization', organization_id, 'amount', (-amount)::text, 'facts', facts, 'price', price_in_force.price
          )
          ORDER BY organization_id
        ) AS charges
      FROM credit_entry
      LEFT JOIN price_list AS price_in_force
        ON price_in_force.catalog_version = facts->>'catalogVersion'
          AND price_in_force.endpoint = facts->'served'->>'endpoint'
      WHERE credit_entry.id = page.id AND kind = 'charge'
    ) AS journal
    CROSS JOIN LATERAL (
      SELECT jsonb_agg(organization_id) AS holds FROM credit_hold WHERE credit_hold.id = page.id
    ) AS open
    ORDER BY page.id`
})

const readPrice = (price: unknown) =>
  price === null ? Effect.succeed(undefined) : Effect.orElseSucceed(decodePrice(price), () => undefined)

const chargeOf = Effect.fnUntraced(function* ({ amount, facts, organization, price }: ChargeRow) {
  return {
    organization: organizationId(organization),
    amount: picodollars(BigInt(amount)),
    facts: facts === null ? "none" : yield* Effect.orElseSucceed(decodeChargeFacts(facts), () => "unreadable" as const),
    price: yield* readPrice(price)
  } satisfies BookedCharge
})

const recordsOf = Effect.fnUntraced(function* (row: Row) {
  const receipt =
    row.receipt === null ? "none" : yield* Effect.orElseSucceed(decodeReceipt(row.receipt), () => "unreadable" as const)
  const endedAt = typeof receipt === "object" ? receipt.atMillis + receipt.durationMillis : 0
  return {
    request: requestId(row.id),
    organization: row.organization_id === null ? undefined : organizationId(row.organization_id),
    receipt,
    price: yield* readPrice(row.price),
    charges: yield* Effect.forEach(row.charges ?? [], chargeOf),
    holds: (row.holds ?? []).map((organization) => organizationId(organization)),
    settling: row.running && Math.max(endedAt, row.charged_at ?? 0) > row.now - settlingMillis
  } satisfies RequestRecords
})

/** To be read in a transaction, so that all pages are of one snapshot. */
export const requestRecords = Stream.unwrap(
  Effect.as(
    forceIndexScans,
    pagesByKey({ read: readPage, keyOf: (row) => row.id }).pipe(
      Stream.mapArrayEffect((rows) => Effect.forEach(rows, recordsOf))
    )
  )
)
