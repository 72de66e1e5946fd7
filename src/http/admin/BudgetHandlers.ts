/** `/admin/v1/budgets`. */
import { DateTime, Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { type Budget, type BudgetOwner, Budgets } from "../../access/Budgets.ts"
import { AdminApi } from "../../api/admin/AdminApi.ts"
import type { BudgetBody, NewBudgetBody } from "../../api/admin/BudgetRoutes.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import { budgetLeft } from "../../domain/Budget.ts"
import { apiKeyId, projectId } from "../../domain/Ids.ts"
import { fromUsd, picodollars, toUsd } from "../../domain/Money.ts"
import { listBody, pageRequestOf, timeOf, timeOrNull } from "../edge/ListWire.ts"
import { orAdminError } from "./AdminErrors.ts"

export const budgetHandlersLayer = HttpApiBuilder.group(AdminApi, "budgets", (handlers) =>
  Effect.gen(function* () {
    const budgets = yield* Budgets

    const create = Effect.fnUntraced(function* ({
      amount_usd,
      period,
      time_zone,
      ...owner
    }: typeof NewBudgetBody.Type) {
      const amount = yield* amountOf(amount_usd)
      const timeZone = yield* zoneOf(time_zone)
      yield* checkOwner(owner)
      return budgetBody(yield* orAdminError(budgets.create({ ...ownerOf(owner), amount, period, timeZone })))
    })

    return handlers
      .handle("list", ({ query }) =>
        budgets
          .list(
            { ...ownerOf(query), removed: query.removed === undefined ? undefined : query.removed === "true" },
            pageRequestOf(query)
          )
          .pipe(
            Effect.map((page) => listBody(page, budgetBody)),
            orAdminError
          )
      )
      .handle("create", ({ payload }) => create(payload))
      .handle("get", ({ params }) => budgets.get(params.id).pipe(Effect.map(budgetBody), orAdminError))
      .handle("update", ({ params, payload }) =>
        Effect.flatMap(amountOf(payload.amount_usd), (amount) =>
          budgets.setAmount(params.id, amount).pipe(Effect.map(budgetBody), orAdminError)
        )
      )
      .handle("remove", ({ params }) => budgets.remove(params.id).pipe(Effect.map(budgetBody), orAdminError))
  })
)

type OwnerWire = Pick<typeof NewBudgetBody.Type, "organization_id" | "project_id" | "api_key_id">

const ownerOf = (owner: OwnerWire): BudgetOwner => ({
  organization: owner.organization_id,
  project: owner.project_id,
  key: owner.api_key_id
})

const checkOwner = ({ api_key_id, organization_id, project_id }: OwnerWire) => {
  if (api_key_id !== undefined && project_id !== undefined)
    return Effect.fail(InvalidRequest.of("project_id: cannot be given beside api_key_id; a budget has one subject"))
  return organization_id === undefined && project_id === undefined && api_key_id === undefined
    ? Effect.fail(InvalidRequest.of("organization_id: is missing, and so are project_id and api_key_id"))
    : Effect.void
}

const amountOf = (text: string) =>
  fromUsd(text).pipe(
    Option.filter((amount) => amount > 0n),
    Option.match({
      onNone: () => Effect.fail(InvalidRequest.of("amount_usd: must be more than zero")),
      onSome: Effect.succeed
    })
  )

/** The name of a zone. An offset such as `+01:00` is none, and PostgreSQL would read it the other way round. */
const zoneOf = (text = "UTC") =>
  /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(text) && Option.isSome(DateTime.zoneMakeNamed(text))
    ? Effect.succeed(text)
    : Effect.fail(InvalidRequest.of("time_zone: must be an IANA name such as Europe/Berlin"))

const budgetBody = (budget: Budget): typeof BudgetBody.Type => ({
  object: "budget",
  id: budget.id,
  organization_id: budget.organization,
  subject: budget.subject,
  project_id: budget.subject === "project" ? projectId(budget.subjectId) : null,
  api_key_id: budget.subject === "api_key" ? apiKeyId(budget.subjectId) : null,
  period: budget.period,
  time_zone: budget.timeZone,
  amount_usd: toUsd(budget.amount),
  spent_usd: toUsd(budget.spent),
  held_usd: toUsd(budget.held),
  left_usd: toUsd(picodollars(budgetLeft(budget))),
  period_start: timeOf(budget.periodStartMillis),
  renews_at: timeOrNull(budget.renewsAtMillis),
  created_at: timeOf(budget.createdAtMillis),
  removed_at: timeOrNull(budget.removedAtMillis)
})
