/**
 * `GET /v1/key`, `GET /v1/credits` and `GET /v1/usage`: what the holder of an API key may know without asking the
 * operator.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import type { ApiKey } from "../../access/ApiKeyRow.ts"
import { ApiKeys } from "../../access/ApiKeys.ts"
import { type Budget, Budgets } from "../../access/Budgets.ts"
import type { KeyFacts } from "../../api/Account.ts"
import { Api, CurrentCaller } from "../../api/Api.ts"
import { budgetLeft } from "../../domain/Budget.ts"
import type { RateLimitNumbers } from "../../domain/Caller.ts"
import { picodollars, toUsd } from "../../domain/Money.ts"
import { CreditLedger } from "../../ledger/CreditLedger.ts"
import { makeUsageReply } from "../usage/UsageReply.ts"

export interface AccountOptions {
  /** The limit of keys that have none of their own. */
  readonly requestsPerMinute: number
}

export const accountHandlersLayer = ({ requestsPerMinute }: AccountOptions) =>
  HttpApiBuilder.group(Api, "account", (handlers) =>
    Effect.gen(function* () {
      const keys = yield* ApiKeys
      const budgets = yield* Budgets
      const ledger = yield* CreditLedger
      const usageOf = yield* makeUsageReply
      return handlers
        .handle(
          "key",
          Effect.fnUntraced(function* () {
            const caller = yield* CurrentCaller
            const key = yield* Effect.orDie(keys.get({ id: caller.key, organization: caller.organization }))
            const applying = yield* Effect.orDie(budgets.find(caller.budgets ?? []))
            return keyFacts(key, applying, caller.organizationLimits, requestsPerMinute)
          })
        )
        .handle(
          "credits",
          Effect.fnUntraced(function* () {
            const { hardCap = false, organization } = yield* CurrentCaller
            const { available, held } = yield* Effect.orDie(ledger.balance(organization))
            const amounts = { available_usd: toUsd(available), held_usd: toUsd(held) }
            return { object: "credits" as const, ...amounts, hard_cap: hardCap }
          })
        )
        .handle(
          "usage",
          Effect.fnUntraced(function* ({ query, request }) {
            const { organization } = yield* CurrentCaller
            return yield* usageOf(query, request, organization)
          })
        )
    })
  )

const seconds = (millis: number): number => Math.floor(millis / 1_000)

const budgetFacts = (budget: Budget): (typeof KeyFacts.Type)["budgets"][number] => ({
  subject: budget.subject,
  period: budget.period,
  time_zone: budget.timeZone,
  amount_usd: toUsd(budget.amount),
  spent_usd: toUsd(budget.spent),
  held_usd: toUsd(budget.held),
  left_usd: toUsd(picodollars(budgetLeft(budget))),
  renews_at: budget.renewsAtMillis === undefined ? null : seconds(budget.renewsAtMillis)
})

const keyFacts = (
  key: ApiKey,
  budgets: ReadonlyArray<Budget>,
  limits: RateLimitNumbers | undefined,
  defaultLimit: number
): typeof KeyFacts.Type => ({
  object: "key",
  id: key.id,
  name: key.name,
  label: key.label ?? null,
  display_prefix: key.displayPrefix,
  organization_id: key.organization,
  project_id: key.project,
  environment_id: key.environment,
  endpoints: key.endpoints ?? null,
  models: key.models ?? null,
  requests_per_minute: key.requestsPerMinute ?? defaultLimit,
  tokens_per_minute: key.tokensPerMinute ?? null,
  concurrent_requests: key.concurrentRequests ?? null,
  organization_limits: {
    requests_per_minute: limits?.requestsPerMinute ?? null,
    tokens_per_minute: limits?.tokensPerMinute ?? null,
    concurrent_requests: limits?.concurrentRequests ?? null
  },
  budgets: budgets.map(budgetFacts),
  created_at: seconds(key.createdAtMillis),
  expires_at: key.expiresAtMillis === undefined ? null : seconds(key.expiresAtMillis)
})
