/**
 * The newest receipts of the log, oldest of them first, for operators. Read in pages by key, so that the memory it
 * takes is that of one page, however many are asked for.
 */
import { Effect, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"

import type { Receipt } from "./Receipt.ts"
import { decodeReceipt } from "./StoredReceipt.ts"

/** A receipt is a few kilobytes. */
const pageSize = 500

/** Before every id. */
const start = "00000000-0000-0000-0000-000000000000"

interface Row {
  readonly id: string
  readonly receipt: unknown
}

/** `Unreadable`: stored by a version that this one does not understand. */
export type RecentRequest = Receipt | "Unreadable"

/** The last `count` requests there are when it begins. Ids sort by age. */
export const recentRequests = (count: number) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const before = yield* sql<{ readonly id: string }>`
        SELECT id FROM request_log ORDER BY id DESC OFFSET ${count} LIMIT 1`
      return Stream.take(receiptsAfter(sql, before[0]?.id ?? start), count)
    })
  )

const receiptsAfter = (sql: SqlClient.SqlClient, first: string) =>
  Stream.paginate(first, (after) =>
    Effect.gen(function* () {
      const rows = yield* sql<Row>`
        SELECT id, receipt FROM request_log WHERE id > ${after}::uuid ORDER BY id LIMIT ${pageSize}`
      const receipts = yield* Effect.forEach(rows, readable)
      const last = rows.at(-1)
      return [receipts, last === undefined ? Option.none<string>() : Option.some(last.id)] as const
    })
  )

const readable = ({ receipt }: Row): Effect.Effect<RecentRequest> =>
  Effect.orElseSucceed(decodeReceipt(receipt), () => "Unreadable" as const)
