/** The latest receipts of the log, in order of age, for operators. */
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"

import { nilUuid, pagesByKey } from "../sql/Pages.ts"
import type { Receipt } from "./Receipt.ts"
import { decodeReceipt } from "./StoredReceipt.ts"

/** A receipt takes a few kilobytes. */
const pageSize = 500

interface Row {
  readonly id: string
  readonly receipt: unknown
}

/**
 * Ends a lateral query of the view `request_receipt` for one id. Without it PostgreSQL may join the ids with the view
 * as a whole, and then makes every receipt of both tables for each page.
 */
export const eachByItself = "OFFSET 0"

/** The first ids of receipts after one, in order. Old receipts may still be in the table of earlier versions. */
export const receiptIds = (sql: SqlClient.SqlClient, after: string, count: number) => sql`
  SELECT id FROM (
    (SELECT id FROM logged_request
      WHERE (at, id) > (request_time(${after}::uuid), ${after}::uuid) ORDER BY at, id LIMIT ${count})
    UNION
    (SELECT id FROM request_log WHERE id > ${after}::uuid ORDER BY id LIMIT ${count})
  ) AS logged
  ORDER BY id LIMIT ${count}`

/** `Unreadable`: stored by a version whose format this one does not understand. */
export type RecentRequest = Receipt | "Unreadable"

/** The last `count` requests that are stored when the stream starts, the oldest of them first. Ids sort by age. */
export const recentRequests = (count: number) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [newestBefore] = yield* sql<{ readonly id: string }>`
        SELECT id FROM (
          (SELECT id FROM logged_request ORDER BY at DESC, id DESC LIMIT ${count + 1})
          UNION
          (SELECT id FROM request_log ORDER BY id DESC LIMIT ${count + 1})
        ) AS newest
        ORDER BY id DESC OFFSET ${count} LIMIT 1`
      const rows = pagesByKey({
        after: newestBefore?.id ?? nilUuid,
        read: (after) => sql<Row>`
          SELECT logged.id, logged.receipt
          FROM (${receiptIds(sql, after, pageSize)}) AS page
          CROSS JOIN LATERAL (
            SELECT id, receipt FROM request_receipt AS one WHERE one.at = request_time(page.id) AND one.id = page.id
            ${sql.literal(eachByItself)}
          ) AS logged
          ORDER BY logged.id`,
        keyOf: (row) => row.id
      })
      return rows.pipe(Stream.take(count), Stream.mapEffect(requestOf))
    })
  )

/** How many requests are stored, counted up to `count`. */
export const storedRequests = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: bigint }>`
    SELECT count(*) AS count FROM (SELECT 1 FROM request_log LIMIT ${count}) AS newest`
  return Number(row?.count ?? 0)
})

const requestOf = ({ receipt }: Row): Effect.Effect<RecentRequest> =>
  Effect.orElseSucceed(decodeReceipt(receipt), () => "Unreadable" as const)
