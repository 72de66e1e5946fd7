/**
 * The statement that writes holds and settlements, any number of them in one round trip and one commit.
 *
 * The rule: its result is that of the same writes made one by one, settlements first, then holds in order. It may be
 * sent again: a charge that is booked, a hold that was released and a hold that exists are all left as they are.
 */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql"

import { organizationId, type RequestId } from "../domain/Ids.ts"
import { Database } from "../sql/Database.ts"
import type { Batch, HoldRow, SettlementRow } from "./BatchRows.ts"
import { budgetParameters, refusalsOf, refusingBudgets } from "./BudgetParameters.ts"
import { budgetStatementOf } from "./BudgetStatement.ts"
import { cappedParts, type ChargeParts, plainParts } from "./CappedCharges.ts"
import { findCharges } from "./Charge.ts"
import { type AccountId, type Funds, noFunds, type Refusal } from "./HoldAccounts.ts"
import {
  bookEntries,
  fundsOfRefusals,
  holdLifetime,
  listParameter,
  lockAccounts,
  releasedChanges,
  releaseHolds,
  writeAccounts
} from "./MoneySql.ts"

/** Of a row of `turn`. */
const isGranted = "CASE WHEN least IS NULL THEN before > 0 ELSE before - amount >= least END"

/*
 * Parameters: $1 to $3 and $8 settlements (id, organization, charge or NULL, facts or NULL), $4 to $6 holds (id,
 * organization, amount), $7 the gateway, $9 the least balances of the holds. `MoneySql` describes `account`, `locked`,
 * `released` and `written`.
 *
 * charged   Books each charge with its facts, unless its id is booked already.
 * returned  What the settlements change per organization: a charge takes from the balance, a release gives back.
 * turn      For every hold the balance `before` it: the account, everything returned, and all earlier holds of this
 *           batch. Position 0 is what an organization starts from. Amounts are not negative, so `before` only falls.
 *           Of the holds without a least balance, those that are granted are the first ones. A hold that is refused
 *           counts all the same for those after it, so one with a least balance may be refused too early, never
 *           granted too early.
 * taken     Stores the holds that found credit. An organization without an account has no `before`, so it gets none.
 * funds     The accounts as this statement leaves them. PostgreSQL computes them only where a hold was refused.
 *
 * Tables and lists are joined nowhere but in `written`: a plan is made once for batches of all sizes, and a nested loop
 * between two lists would take time in the square of their length.
 */
const statementOf = ({ booked, entries, queries }: ChargeParts): string => `
WITH ${lockAccounts("= ANY ($2::uuid[] || $5::uuid[])")}, ${releaseHolds("= ANY ($1::uuid[])")}${queries},
charged AS (${bookEntries(entries)}
), returned AS MATERIALIZED (
  SELECT organization_id, amount AS balance, 0::bigint AS held FROM charged
  UNION ALL
  ${releasedChanges}
), turn AS MATERIALIZED (
  SELECT id, organization_id, amount, least, position,
    sum(change) OVER (
      PARTITION BY organization_id ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before
  FROM (
    SELECT NULL::uuid AS id, organization_id, 0::bigint AS amount, NULL::bigint AS least, 0::bigint AS position,
      balance AS change
    FROM account
    UNION ALL
    SELECT NULL, organization_id, 0, NULL, 0, balance FROM returned
    UNION ALL
    SELECT id, organization_id, amount, least, position, -amount
    FROM unnest($4::uuid[], $5::uuid[], $6::bigint[], $9::bigint[])
      WITH ORDINALITY AS hold (id, organization_id, amount, least, position)
  ) AS changes
), taken AS (
  INSERT INTO credit_hold (id, organization_id, amount, gateway_id, expires_at)
  SELECT id, organization_id, amount, $7::uuid, now() + interval '${holdLifetime}'
  FROM turn
  WHERE position > 0 AND ${isGranted}
  ORDER BY position
  ON CONFLICT DO NOTHING
  RETURNING organization_id, amount
), ${writeAccounts([
  "SELECT organization_id, balance, held FROM returned",
  "SELECT organization_id, -amount, amount FROM taken"
])}
SELECT string_agg(position::text, ',') AS refused, ${booked} AS booked,
  ${fundsOfRefusals}
FROM turn
WHERE position > 0 AND NOT coalesce(${isGranted}, false)`

const statements = { plain: statementOf(plainParts), capped: statementOf(cappedParts("$10")) }
const budgetStatements = { plain: budgetStatementOf(plainParts), capped: budgetStatementOf(cappedParts("$20")) }

/**
 * JSON as an element of an array parameter. PostgreSQL reads such an element as it reads a JSON string, except for the
 * escapes of control characters, which JSON itself does not contain.
 */
const quoted = (json: string | undefined): string => (json === undefined ? "NULL" : JSON.stringify(json))

/** Reads `organization available held`, separated by commas. */
const fundsOf = (text: string | null | undefined): ReadonlyMap<AccountId, Funds> =>
  new Map(
    (text ?? "").split(",").map((account) => {
      const [organization = "", available = "0", held = "0"] = account.split(" ")
      return [organizationId(organization), { available: BigInt(available), held: BigInt(held) }]
    })
  )

export interface Written {
  /** The holds that were refused, by their indexes. */
  readonly refused: ReadonlyMap<number, Refusal>
  /** How many charges were booked as they were asked for. The others were cut, or their ids had one already. */
  readonly booked: number
}

interface Answer {
  readonly refused: string | null
  readonly booked: number
  readonly funds: string | null
  /** Only in the answer of the statement that keeps budgets. */
  readonly budgets?: string | null
}

const noRefusals: Written["refused"] = new Map()

/** The refusals of the statement without budgets: only the balance refuses there. */
const balanceRefusals = (holds: Batch["holds"], refused: string, text: string | null): Written["refused"] => {
  const funds = fundsOf(text)
  return new Map(
    refused.split(",").flatMap((position) => {
      const [index, account] = [Number(position) - 1, holds[Number(position) - 1]?.organization]
      return account === undefined ? [] : [[index, { account, funds: funds.get(account) ?? noFunds }]]
    })
  )
}

const hasBudgets = ({ budgets }: HoldRow | SettlementRow): boolean => budgets !== undefined

const parametersOf = ({ gateway, holds, settlements }: Batch): ReadonlyArray<string> => [
  listParameter(settlements.map((row) => row.id)),
  listParameter(settlements.map((row) => row.organization)),
  listParameter(settlements.map((row) => row.charge?.amount ?? "NULL")),
  listParameter(holds.map((row) => row.id)),
  listParameter(holds.map((row) => row.organization)),
  listParameter(holds.map((row) => row.amount)),
  gateway,
  listParameter(settlements.map((row) => quoted(row.charge?.facts))),
  listParameter(holds.map((row) => row.least ?? "NULL"))
]

/** Which of the settlements are capped. Empty where none is. */
const cappedParameter = ({ settlements }: Batch): ReadonlyArray<string> =>
  settlements.some(({ charge, isCapped }) => isCapped === true && charge !== undefined)
    ? [listParameter(settlements.map(({ isCapped = false }) => String(isCapped)))]
    : []

const kindOf = (capped: ReadonlyArray<string>): "plain" | "capped" => (capped.length === 0 ? "plain" : "capped")

/** The statements of group commit, over the ledger's own connections. */
export const makeBatchStatement = Effect.gen(function* () {
  const { ledger } = yield* Database
  const clock = yield* Clock.Clock

  const writePlain = (batch: Batch, capped: ReadonlyArray<string>): Effect.Effect<Written, SqlError.SqlError> =>
    Effect.map(ledger.unsafe<Answer>(statements[kindOf(capped)], [...parametersOf(batch), ...capped]), ([row]) => ({
      refused: typeof row?.refused === "string" ? balanceRefusals(batch.holds, row.refused, row.funds) : noRefusals,
      booked: row?.booked ?? 0
    }))

  /** A batch in which a request has budgets. */
  const writeBudgeted = (batch: Batch, capped: ReadonlyArray<string>): Effect.Effect<Written, SqlError.SqlError> =>
    Effect.map(
      ledger.unsafe<Answer>(budgetStatements[kindOf(capped)], [
        ...budgetParameters(batch, parametersOf(batch), clock.currentTimeMillisUnsafe()),
        ...capped
      ]),
      ([row]) => ({
        refused:
          typeof row?.refused === "string"
            ? refusalsOf(batch.holds, row.refused, fundsOf(row.funds), refusingBudgets(row.budgets))
            : noRefusals,
        booked: row?.booked ?? 0
      })
    )

  const write = (batch: Batch): Effect.Effect<Written, SqlError.SqlError> => {
    const capped = cappedParameter(batch)
    return batch.holds.some(hasBudgets) || batch.settlements.some(hasBudgets)
      ? writeBudgeted(batch, capped)
      : writePlain(batch, capped)
  }

  /** Which of these holds are in the database. */
  const findHolds = (ids: ReadonlyArray<RequestId>): Effect.Effect<ReadonlySet<string>, SqlError.SqlError> =>
    Effect.map(
      ledger.unsafe<{ readonly id: string }>("SELECT id FROM credit_hold WHERE id = ANY ($1::uuid[])", [
        listParameter(ids)
      ]),
      (rows) => new Set(rows.map((row) => row.id))
    )

  return { write, findHolds, findCharges: (ids: ReadonlyArray<RequestId>) => findCharges(ledger, ids) }
})
