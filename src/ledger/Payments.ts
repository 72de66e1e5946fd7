/**
 * Money that an operator grants to an organization or takes back, and the journal of an organization. The rule: a
 * payment is booked once under the id that its operator chose, and another amount under the same id is refused.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { type OrganizationId, organizationId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { type Balance, findBalance } from "./Balance.ts"
import { withinTimeout } from "./DatabaseTimeout.ts"
import { belowZero, type LedgerError, paymentConflict } from "./LedgerError.ts"
import { addEntries, bookEntries, holdLifetime, lockAccounts } from "./MoneySql.ts"

export interface Payment {
  readonly organization: OrganizationId
  /** The id that the payment has where it comes from, such as the number of an invoice. */
  readonly payment: string
  /** A grant is positive. A correction may be negative, and may leave a balance below zero that has no hard cap. */
  readonly kind: "grant" | "correction"
  readonly amount: Picodollars
  readonly reason: string
  /** Whether a correction may take an organization with a hard cap below zero. */
  readonly isForced?: boolean | undefined
}

/** One movement of money. The entries of an organization add up to its balance and its holds. */
export interface JournalEntry {
  /** For a charge, the id of the request. */
  readonly id: string
  readonly organization: OrganizationId
  readonly kind: "charge" | "grant" | "correction"
  readonly amount: Picodollars
  readonly atMillis: number
  /** Of a grant or correction by an operator. */
  readonly payment?: { readonly id: string; readonly reason: string }
}

export interface OpenHold {
  readonly request: string
  readonly amount: Picodollars
  /** How long it has been open, by the clock of the database. */
  readonly ageMillis: number
}

/** Whether a payment was booked now, or had been before, under the same id. */
export interface BookedPayment {
  readonly entry: string
  readonly isNew: boolean
}

interface PaymentRow {
  readonly entry_id: string
  readonly kind: string
  readonly amount: bigint
}

interface EntryRow {
  readonly id: string
  readonly organization_id: string
  readonly kind: JournalEntry["kind"]
  readonly amount: bigint
  readonly at: Date
  readonly payment_id: string | null
  readonly reason: string | null
}

/*
 * Parameters: organization, payment, entry, kind, amount, reason, whether it is forced. With a hard cap, no more is
 * taken away than is available: what is held pays for requests that are under way.
 */
const bookStatement = `
WITH ${lockAccounts("= $1::uuid")}, new AS (
  INSERT INTO payment (organization_id, payment_id, entry_id, kind, amount, reason)
  SELECT $1::uuid, $2, $3::uuid, $4, $5::bigint, $6
  WHERE $5::bigint >= 0 OR $7::boolean OR coalesce((SELECT balance FROM account), 0) + $5::bigint >= 0
    OR NOT (SELECT hard_cap FROM organization WHERE id = $1::uuid)
  ON CONFLICT DO NOTHING
  RETURNING entry_id, organization_id, kind, amount
), entry AS (${bookEntries("SELECT entry_id, organization_id, kind, amount, NULL::jsonb FROM new")}
)${addEntries}`

export class Payments extends Context.Service<
  Payments,
  {
    /**
     * Books a payment once. Another amount or kind under the same id fails with `PaymentConflict`, and a correction
     * that a hard cap does not allow with `BelowZero`.
     */
    readonly book: (payment: Payment) => Effect.Effect<BookedPayment, LedgerError>
    /** Zero for an organization without an account. */
    readonly balance: (organization: OrganizationId) => Effect.Effect<Balance, LedgerError>
    /** The latest entry first. */
    readonly journal: (
      organization: OrganizationId,
      page: PageRequest
    ) => Effect.Effect<Page<JournalEntry>, LedgerError>
    /** The oldest hold first. */
    readonly openHolds: (organization: OrganizationId, page: PageRequest) => Effect.Effect<Page<OpenHold>, LedgerError>
  }
>()("tollgate/ledger/Payments") {
  static readonly layer = Layer.effect(
    Payments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom

      const book = Effect.fn("Payments.book")(function* (payment: Payment) {
        const { amount, isForced = false, kind, organization, payment: id, reason } = payment
        const entry = yield* random.uuidV7()
        const booked = yield* withinTimeout(
          sql.unsafe(bookStatement, [organization, id, entry, kind, String(amount), reason, isForced])
        )
        if (booked.length > 0) return { entry, isNew: true }
        const [earlier] = yield* withinTimeout(sql<PaymentRow>`
          SELECT entry_id, kind, amount FROM payment WHERE organization_id = ${organization} AND payment_id = ${id}`)
        if (earlier === undefined) return yield* belowZero()
        if (earlier.kind !== kind || earlier.amount !== amount) return yield* paymentConflict()
        return { entry: earlier.entry_id, isNew: false }
      })

      const balance = Effect.fn("Payments.balance")((organization: OrganizationId) =>
        withinTimeout(findBalance(sql, organization))
      )

      const journal = Effect.fn("Payments.journal")(function* (organization: OrganizationId, page: PageRequest) {
        const rows = yield* withinTimeout(sql<EntryRow>`
          SELECT e.id, e.organization_id, e.kind, e.amount, e.at, p.payment_id, p.reason
          FROM credit_entry e
            LEFT JOIN payment p ON e.kind <> 'charge' AND p.entry_id = e.id AND p.organization_id = e.organization_id
          WHERE ${sql.and([
            sql`e.organization_id = ${organization}`,
            ...(page.cursor === undefined ? [] : [sql`e.id < ${page.cursor}::uuid`])
          ])}
          ORDER BY e.id DESC LIMIT ${page.limit + 1}`)
        return pageOf(page, rows.map(entryOf), ({ id }) => id)
      })

      const openHolds = Effect.fn("Payments.openHolds")(function* (organization: OrganizationId, page: PageRequest) {
        const rows = yield* withinTimeout(sql<{ readonly id: string; readonly amount: bigint; readonly age: number }>`
          SELECT id, amount,
            extract(epoch FROM now() - (expires_at - ${sql.literal(`interval '${holdLifetime}'`)}))::float8 AS age
          FROM credit_hold
          WHERE ${sql.and([
            sql`organization_id = ${organization}`,
            ...(page.cursor === undefined ? [] : [sql`id > ${page.cursor}::uuid`])
          ])}
          ORDER BY id LIMIT ${page.limit + 1}`)
        const holds = rows.map(({ age, amount, id }) => ({
          request: id,
          amount: picodollars(amount),
          ageMillis: Math.max(0, Math.round(age * 1_000))
        }))
        return pageOf(page, holds, ({ request }) => request)
      })

      return Payments.of({ book, balance, journal, openHolds })
    })
  )
}

const entryOf = (row: EntryRow): JournalEntry => ({
  id: row.id,
  organization: organizationId(row.organization_id),
  kind: row.kind,
  amount: picodollars(row.amount),
  atMillis: row.at.getTime(),
  ...(row.payment_id !== null && { payment: { id: row.payment_id, reason: row.reason ?? "" } })
})
