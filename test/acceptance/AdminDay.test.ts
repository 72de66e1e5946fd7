/**
 * The day of an operator over the admin API: an organization is opened, paid for, used, corrected, compared with the
 * bill of the provider, and closed; and all books have the same sums, to the picodollar.
 */
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"

import { audit, differences, unexplainedCharges } from "../../src/audit/Audit.ts"
import { billedModels } from "../../src/audit/BilledModels.ts"
import { agrees, BillTotals } from "../../src/audit/Reconciliation.ts"
import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { organizationId } from "../../src/domain/Ids.ts"
import { picodollars, toUsd } from "../../src/domain/Money.ts"
import { at, chunksOf, eventually, type Json, priced, settledBalance, user } from "../support/Chat.ts"
import { describeGateway, type Reply, TestGateway, usd } from "../support/TestGateway.ts"

const body = { model: "gpt-4o-mini", messages: [user("Hello")], max_completion_tokens: 20 }

const withKey = (secret: unknown) => ({ authorization: `Bearer ${String(secret)}` })

const rowsOf = (reply: Reply) => reply.at("data") as ReadonlyArray<Json>

const sum = (amounts: ReadonlyArray<unknown>) => amounts.reduce<bigint>((total, each) => total + usd(String(each)), 0n)

const statusIs = (reply: Reply, status: number, code?: string) => {
  assert.deepStrictEqual(
    [reply.status, status === 200 ? undefined : reply.at("error.code")],
    [status, code],
    reply.text
  )
  return reply
}

/** A request of the operator that is answered. Two changes are never of one millisecond, by which they are ordered. */
const asked = Effect.fnUntraced(function* (method: string, path: string, payload?: Json) {
  const { admin } = yield* TestGateway
  const reply = statusIs(yield* admin(method, `/admin/v1/${path}`, payload), 200)
  if (method !== "GET") yield* Effect.sleep("2 millis")
  return reply
})

const limits = { requests_per_minute: 100, tokens_per_minute: 100_000, concurrent_requests: 4 }

/** Opens an organization with a hard cap and a factor, and gives it a key with limits, a budget and credit. */
const opened = Effect.gen(function* () {
  const organization = String((yield* asked("POST", "organizations", { name: "Acme" })).at("id"))
  const own = `organizations/${organization}`
  yield* asked("PATCH", own, { hard_cap: true })
  yield* asked("PATCH", own, { pricing: { factor: "1.25" } })
  const project = (yield* asked("POST", `${own}/projects`, { name: "shop" })).at("id")
  const environment = (yield* asked("POST", `projects/${String(project)}/environments`, { name: "production" })).at(
    "id"
  )
  const allowed = { models: ["gpt-4o-mini", "gpt-4.1"], endpoints: ["chat.completions"] }
  const wanted = { environment_id: environment, name: "ci", ...allowed, ...limits }
  const key = yield* asked("POST", "api_keys", wanted)
  assert.deepInclude(JSON.parse(key.text), { ...allowed, ...limits })
  const budget = yield* asked("POST", "budgets", { project_id: project, amount_usd: "0.0001", period: "total" })
  const grant = { payment_id: "inv-17", amount_usd: "25", reason: "contract" }
  for (const booked of [true, false])
    assert.strictEqual((yield* asked("POST", `${own}/credit/grants`, grant)).at("booked"), booked)
  return { organization, own, key: String(key.at("id")), secret: key.at("secret"), budget: String(budget.at("id")) }
})

type Opened = Effect.Success<typeof opened>

/** Calls until the budget is spent, raises it, and calls again. Answers what the providers billed for each answer. */
const traffic = Effect.fnUntraced(function* ({ budget, secret }: Opened) {
  const { chat } = yield* TestGateway
  const key = withKey(secret)
  const plain = statusIs(yield* chat(body, key), 200)
  // With a hard cap, a budget has to pay for the longest answer that is asked for.
  const long = { ...body, max_completion_tokens: 5_000 }
  statusIs(yield* chat(long, key), 429, "budget_exceeded")
  statusIs(yield* chat({ ...body, model: "gpt-5" }, key), 403, "model_not_allowed")
  assert.strictEqual((yield* asked("PATCH", `budgets/${budget}`, { amount_usd: "5" })).at("amount_usd"), "5")
  const raised = statusIs(yield* chat(long, key), 200)
  const stream = { ...body, model: "gpt-4.1", stream: true, stream_options: { include_usage: true } }
  const streamed = chunksOf(statusIs(yield* chat(stream, key), 200).text).at(-1)
  const answers = [
    ["gpt-4o-mini", JSON.parse(plain.text)],
    ["gpt-4o-mini", JSON.parse(raised.text)],
    ["gpt-4.1", streamed]
  ] as const
  return yield* Effect.forEach(answers, ([model, answer]) => {
    const [input, output] = ["prompt_tokens", "completion_tokens"].map((name) => Number(at(answer, "usage", name)))
    return Effect.map(priced(model, { input: input ?? 0, output: output ?? 0 }), (billed) => ({ model, billed }))
  })
})

type Billed = Effect.Success<ReturnType<typeof traffic>>

/** Asserts that log, receipts, usage, its CSV, journal and balance have the same sums. Answers the log. */
const assertBooks = Effect.fnUntraced(function* ({ organization, own }: Opened, billed: Billed) {
  const filter = `organization_id=${organization}&outcome=completed`
  const look = Effect.map(asked("GET", `requests?${filter}`), rowsOf)
  const log = yield* eventually(
    Effect.map(look, (rows) => (rows.length === billed.length ? rows : undefined)),
    "the log"
  )
  const cost = sum(log.map(({ cost_usd }) => cost_usd))
  const receipts = yield* Effect.forEach(log, ({ id }) => asked("GET", `requests/${String(id)}`))
  assert.deepStrictEqual(
    receipts.map((receipt) => usd(String(receipt.at("provider_cost_usd")))),
    billed.map((one) => one.billed).toReversed() as never
  )
  assert.strictEqual(sum(receipts.map((receipt) => receipt.at("cost_usd"))), cost)
  const provider = sum(receipts.map((receipt) => receipt.at("provider_cost_usd")))
  assert.strictEqual(cost, (provider * 5n) / 4n)
  const usage = `usage?${filter}&from=2026-01-01T00:00:00Z`
  const models = rowsOf(yield* asked("GET", `${usage}&group_by=model`))
  assert.sameDeepMembers(
    models.map(({ group, requests }) => [at(group, "model"), requests]),
    [
      ["gpt-4o-mini", 2],
      ["gpt-4.1", 1]
    ]
  )
  for (const [member, expected] of [
    ["cost_usd", cost],
    ["provider_cost_usd", provider],
    ["margin_usd", cost - provider]
  ] as const)
    assert.strictEqual(sum(models.map((row) => row[member])), expected, member)
  const [head = "", row = ""] = (yield* asked("GET", `${usage}&format=csv`)).text.split("\r\n")
  assert.strictEqual(row.split(",")[head.split(",").indexOf("cost_usd")], toUsd(picodollars(cost)))
  const journal = rowsOf(yield* asked("GET", `${own}/credit/journal`))
  assert.strictEqual(sum(journal.map(({ amount_usd }) => amount_usd)), usd("25") - cost)
  assert.strictEqual(yield* settledBalance(organizationId(organization)), (usd("25") - cost) as never)
  assert.strictEqual((yield* asked("GET", `${own}/credit`)).at("available_usd"), toUsd(picodollars(usd("25") - cost)))
  return log
})

/** Compares the provider's bill with what was counted: as it is, and with one line that is a picodollar too high. */
const assertBill = Effect.fnUntraced(function* (log: ReadonlyArray<Json>, billed: Billed) {
  const models = billedModels(Result.getOrThrow(loadCatalog()), "openai")
  const exact = { amount: picodollars(0n), millionths: 0n }
  const compare = Effect.fnUntraced(function* (extra: bigint) {
    const totals = new BillTotals(models, {})
    for (const [index, { billed: amount, model }] of billed.entries()) {
      // The latest request comes first in the log.
      const day = String(log[log.length - 1 - index]?.["at"]).slice(0, 10)
      totals.add({ day, name: model, amount: picodollars(model === "gpt-4.1" ? amount + extra : amount) })
    }
    return yield* totals.compareWith("openai", totals.days ?? assert.fail("no days"), exact)
  })
  const same = yield* compare(0n)
  assert.deepStrictEqual([agrees(same), same.differences, same.billed], [true, [], same.counted])
  const more = yield* compare(1n)
  assert.isFalse(agrees(more))
  assert.deepStrictEqual(
    more.differences.map((one) => [one.model, one.billed - one.counted]),
    [["gpt-4.1", 1n]]
  )
})

/** What the operator changed, in order, with a part of what was there before and after. */
const changes: ReadonlyArray<readonly [action: string, before?: Json | undefined, after?: Json]> = [
  ["organization.create", undefined, { name: "Acme", hard_cap: false }],
  ["organization.update", { hard_cap: false }, { hard_cap: true }],
  ["organization.update", { pricing: null }, { pricing: { factor: "1.25" } }],
  ["project.create", undefined, { name: "shop" }],
  ["environment.create", undefined, { name: "production" }],
  ["api_key.issue", undefined, { name: "ci", ...limits }],
  ["budget.create", undefined, { amount: 100_000_000 }],
  ["credit.grant", undefined, { payment_id: "inv-17", amount_usd: "25" }],
  ["budget.update", { amount: 100_000_000 }, { amount: 5_000_000_000_000 }],
  ["api_key.rotate"],
  ["api_key.revoke", { revoked_at: null }],
  ["credit.correction", undefined, { payment_id: "c-1", amount_usd: "-0.5" }],
  ["organization.close", { closed_at: null }]
]

const assertAudited = Effect.fnUntraced(function* ({ organization }: Opened) {
  const trail = yield* asked("GET", `audit_events?organization_id=${organization}`)
  const events = rowsOf(trail).toReversed()
  assert.deepStrictEqual(
    events.map(({ action }) => action),
    changes.map(([action]) => action)
  )
  for (const [index, [action, before, after]] of changes.entries()) {
    assert.deepStrictEqual(events[index]?.["actor"], { name: "ADMIN_API_KEY", admin_key_id: null })
    if (before) assert.deepInclude(events[index]?.["before"], before, action)
    if (after) assert.deepInclude(events[index]?.["after"], after, action)
  }
})

/** Until the gateway has learnt that a key is valid no more. */
const isRefused = Effect.fnUntraced(function* (secret: unknown) {
  const { request } = yield* TestGateway
  const look = request("GET", "/v1/key", undefined, withKey(secret))
  const ended = Effect.map(look, (reply) => (reply.status === 401 ? reply : undefined))
  statusIs(yield* eventually(ended, "the end of the key"), 401, "unauthorized")
})

describeGateway("The day of an operator", (it) => {
  it.effect("goes from the opening of an organization to its closing, and all books agree", () =>
    Effect.gen(function* () {
      const { chat } = yield* TestGateway
      const acme = yield* opened
      const billed = yield* traffic(acme)
      const log = yield* assertBooks(acme, billed)
      yield* assertBill(log, billed)
      const fresh = (yield* asked("POST", `api_keys/${acme.key}/rotate`, { overlap_seconds: 3_600 })).at("secret")
      for (const secret of [acme.secret, fresh]) statusIs(yield* chat(body, withKey(secret)), 200)
      yield* asked("POST", `api_keys/${acme.key}/revoke`)
      yield* isRefused(acme.secret)
      statusIs(yield* chat(body, withKey(fresh)), 200)
      const left = yield* settledBalance(organizationId(acme.organization))
      const correction = { payment_id: "c-1", amount_usd: "-0.5", reason: "charged too little" }
      const corrected = yield* asked("POST", `${acme.own}/credit/corrections`, correction)
      assert.strictEqual(corrected.at("balance.available_usd"), toUsd(picodollars(left - usd("0.5"))))
      yield* asked("PATCH", acme.own, { closed: true })
      yield* isRefused(fresh)
      statusIs(yield* chat(body, withKey(fresh)), 401, "unauthorized")
      const report = yield* audit
      assert.deepStrictEqual([differences(report), unexplainedCharges(report)], [0, 0], JSON.stringify(report.findings))
      yield* assertAudited(acme)
    })
  )
})
