/**
 * The day of an operator in commands of `tollgate`: as separate processes beside a running gateway over HTTP, and on
 * the database of a stopped one.
 */
import { join } from "node:path"

import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"

import { picodollars, toUsd } from "../../src/domain/Money.ts"
import { Database } from "../../src/sql/Database.ts"
import { at, chunksOf, eventually, type Json, priced, user } from "../support/Chat.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { dataDirectory, postgresDatabase } from "../support/TestDatabase.ts"
import { describeGatewayOnce, type Reply, TestGateway, usd } from "../support/TestGateway.ts"
import {
  assertAudited,
  closeAcme,
  openAcme,
  type Opened,
  type Operator,
  operator,
  raiseBudget,
  refusingPort,
  rotateKey,
  rowsOf,
  stoppedGateway
} from "./Operator.ts"
import { tollgateInProcess } from "./Tollgate.ts"

/** Every command is a process, on a machine that may be busy with other suites. */
const commandsTimeout = 600_000

const nobody = "018f0000-0000-7000-8000-00000000dead"

const body = { model: "gpt-4o-mini", messages: [user("Hello")], max_completion_tokens: 20 }

const withKey = (secret: string) => ({ authorization: `Bearer ${secret}` })

const sum = (amounts: ReadonlyArray<unknown>) => amounts.reduce<bigint>((total, each) => total + usd(String(each)), 0n)

const statusIs = (reply: Reply, status: number, code?: string) =>
  assert.deepStrictEqual(
    [reply.status, status === 200 ? undefined : reply.at("error.code")],
    [status, code],
    reply.text
  )

/** Calls until the budget is spent, raises it, and calls again. Answers what the providers billed for each answer. */
const callAndRaise = Effect.fnUntraced(function* (commands: Operator, opened: Opened) {
  const { chat } = yield* TestGateway
  const key = withKey(opened.secret)
  const plain = yield* chat(body, key)
  statusIs(plain, 200)
  // With a hard cap, a budget has to pay for the longest answer that is asked for.
  statusIs(yield* chat({ ...body, max_completion_tokens: 5_000 }, key), 429, "budget_exceeded")
  statusIs(yield* chat({ ...body, model: "gpt-5" }, key), 403, "model_not_allowed")
  yield* raiseBudget(commands, opened)
  const raised = yield* chat(body, key)
  statusIs(raised, 200)
  const stream = yield* chat({ ...body, model: "gpt-4.1", stream: true, stream_options: { include_usage: true } }, key)
  statusIs(stream, 200)
  const answers: ReadonlyArray<readonly [string, Json]> = [
    ["gpt-4o-mini", JSON.parse(plain.text)],
    ["gpt-4o-mini", JSON.parse(raised.text)],
    ["gpt-4.1", chunksOf(stream.text).at(-1) ?? {}]
  ]
  return yield* Effect.forEach(answers, ([model, answer]) => {
    const [input, output] = ["prompt_tokens", "completion_tokens"].map((name) => Number(at(answer, "usage", name)))
    return Effect.map(priced(model, { input: input ?? 0, output: output ?? 0 }), (billed) => ({ model, billed }))
  })
})

type Billed = Effect.Success<ReturnType<typeof callAndRaise>>

/** Asserts that log, receipts, usage, journal and balance have the same sums. Answers the log of what was answered. */
const assertBooks = Effect.fnUntraced(function* ({ json, lines }: Operator, billed: Billed) {
  const { admin } = yield* TestGateway
  const completed = ["requests", "list", "--org", "Acme", "--outcome", "completed"]
  const organization = String((yield* json("org", "get", "Acme"))["id"])
  yield* eventually(
    Effect.map(admin("GET", `/admin/v1/requests?organization_id=${organization}&outcome=completed`), (list) =>
      (list.at("data") as ReadonlyArray<Json>).length === billed.length ? true : undefined
    ),
    "the log"
  )
  const log = rowsOf(yield* json(...completed))
  const cost = sum(log.map(({ cost_usd }) => cost_usd))
  assert.strictEqual(cost, (billed.reduce((total, one) => total + one.billed, 0n) * 5n) / 4n)
  const receipt = yield* json("requests", "show", String(log[0]?.["id"]))
  assert.deepInclude(receipt, { model: "gpt-4.1", cost_usd: log[0]?.["cost_usd"] })
  assert.strictEqual(usd(String(receipt["provider_cost_usd"])), billed[2]?.billed as never)
  const usage = rowsOf(yield* json("usage", "--org", "Acme", "--outcome", "completed", "--by", "model"))
  assert.sameDeepMembers(
    usage.map(({ group, requests }) => [at(group, "model"), requests]),
    [
      ["gpt-4o-mini", 2],
      ["gpt-4.1", 1]
    ]
  )
  assert.strictEqual(sum(usage.map(({ cost_usd }) => cost_usd)), cost)
  const [head = "", row = ""] = yield* lines("usage", "--org", "Acme", "--csv")
  assert.strictEqual(usd(row.split(",")[head.split(",").indexOf("cost_usd")] ?? ""), cost as never)
  const journal = rowsOf(yield* json("credit", "journal", "Acme"))
  const charges = journal.filter(({ kind }) => kind === "charge").map(({ amount_usd }) => String(amount_usd))
  assert.strictEqual(sum(charges), -cost)
  const balance = yield* json("credit", "balance", "Acme")
  assert.deepInclude(balance, { available_usd: toUsd(picodollars(usd("25") - cost)), held_usd: "0" })
  return log
})

/** Compares bills of the provider with what was counted: that of its answers, and one with a line that is too high. */
const reconcile = Effect.fnUntraced(function* (commands: Operator, log: ReadonlyArray<Json>, billed: Billed) {
  const files = yield* FileSystem.FileSystem
  const path = join(yield* files.makeTempDirectoryScoped(), "bill.csv")
  const compare = Effect.fnUntraced(function* (lines: Billed) {
    // The latest request comes first in the log.
    const days = log.map((row) => String(row["at"]).slice(0, 10)).toReversed()
    const rows = lines.map((line, index) => `${days[index]},${line.model},${toUsd(picodollars(line.billed))}\n`)
    yield* files.writeFileString(path, `day,model,cost_usd\n${rows.join("")}`)
    return yield* commands.run("reconcile", "--provider", "openai", "--file", path, "--tolerance", "0")
  })
  const same = yield* compare(billed)
  assert.deepStrictEqual([same.code, same.out.includes("0 differences, 0 unknown")], [0, true], same.err + same.out)
  const more = yield* compare(billed.map((line, index) => (index === 2 ? { ...line, billed: line.billed + 1n } : line)))
  assert.strictEqual(more.code, 1, more.err)
  assert.match(more.out, /^\d{4}-\d\d-\d\d +gpt-4\.1 +\S+ +\S+ +0\.000000000001( |$)/m)
  const verified = yield* commands.run("ledger", "verify")
  assert.deepStrictEqual(
    [verified.code, verified.out.includes("0 differences, 0 unexplained")],
    [0, true],
    verified.out
  )
}, Effect.scoped)

/** Until the gateway has learnt that a key is valid no more. */
const isRefused = (secret: string) =>
  Effect.gen(function* () {
    const { request } = yield* TestGateway
    const look = request("GET", "/v1/key", undefined, withKey(secret))
    yield* eventually(
      Effect.map(look, ({ status }) => (status === 401 ? true : undefined)),
      "the end of the key"
    )
  })

describeGatewayOnce("tollgate beside a gateway", (it) => {
  it.effect(
    "does the day of an operator over HTTP",
    () =>
      Effect.gen(function* () {
        const { chat, url, variables } = yield* TestGateway
        const commands = operator({ ...variables, TOLLGATE_URL: url })
        const opened = yield* openAcme(commands)
        const billed = yield* callAndRaise(commands, opened)
        const log = yield* assertBooks(commands, billed)
        // The embedded database is for one process: then the bill is compared once the gateway has stopped.
        if (variables["DATABASE_URL"] !== undefined) yield* reconcile(commands, log, billed)
        const fresh = yield* rotateKey(commands, opened)
        for (const secret of [opened.secret, fresh]) statusIs(yield* chat(body, withKey(secret)), 200)
        yield* closeAcme(commands, opened)
        yield* Effect.forEach([opened.secret, fresh], isRefused)
        statusIs(yield* chat(body, withKey(fresh)), 401, "unauthorized")
        yield* assertAudited(commands, "ADMIN_API_KEY")
        const journal = yield* commands.lines("credit", "journal", "Acme")
        assert.match(journal[0] ?? "", /^at +kind +amount_usd +payment_id +reason +id$/)
        assert.match(journal[1] ?? "", / correction +-0\.5 +c-1 +charged twice /)
        assert.match(journal[2] ?? "", / charge +-0\.0000\d+ +- +- /)
        assert.match(journal.at(-1) ?? "", / grant +25 +inv-17 +contract of March /)
      }).pipe(Effect.provide(NodeServices.layer)),
    commandsTimeout
  )
})

const dayWithoutGateway = Effect.fnUntraced(function* (database: Environment) {
  const variables = yield* stoppedGateway(database)
  const commands = operator(variables, tollgateInProcess)
  const opened = yield* openAcme(commands)
  yield* raiseBudget(commands, opened)
  yield* rotateKey(commands, opened)
  yield* closeAcme(commands, opened)
  yield* assertAudited(commands, "command line")
  assert.lengthOf(yield* commands.lines("credit", "journal", "Acme"), 3)
  // As a process, which has to find and open the database by itself.
  const apart = operator(variables)
  assert.strictEqual((yield* apart.json("org", "get", "Acme"))["id"], opened.organization)
  const { code, err, out } = yield* apart.run("org", "get", nobody)
  assert.deepStrictEqual([code, out], [1, ""])
  assert.match(err, /^No gateway listens on http:\/\/127\.0\.0\.1:\d+: working on its database\n/)
  assert.include(err, "tollgate: not_found: There is no such organization\n")
})

describe("tollgate without a gateway", () => {
  it.live(
    "does the day of an operator on the embedded database of a stopped gateway",
    () => Effect.flatMap(dataDirectory, (directory) => dayWithoutGateway({ DATA_DIR: directory })),
    commandsTimeout
  )

  const server = inject("postgresUrl")
  it.live.skipIf(server === undefined)(
    "does it on PostgreSQL, and takes no lease and no hold",
    () =>
      Effect.gen(function* () {
        const url = yield* postgresDatabase(server ?? "")
        yield* dayWithoutGateway({ DATABASE_URL: Redacted.value(url) })
        const leases = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1 FROM gateway_lease`)
        const opened = Database.layer({ url, dataDir: "unused", poolSize: 1 })
        assert.deepStrictEqual(yield* leases.pipe(Effect.provide(opened, { local: true })), [])
      }),
    commandsTimeout
  )

  it.live(
    "creates nothing and migrates nothing",
    () =>
      Effect.gen(function* () {
        const { port } = yield* refusingPort
        const absent = yield* operator({ DATA_DIR: "/nowhere", PORT: String(port) }).run("org", "create", "Acme")
        assert.deepStrictEqual([absent.code, absent.out], [2, ""])
        assert.include(absent.err, "tollgate: There is no database in /nowhere")
        const unmigrated = yield* operator({ DATA_DIR: yield* dataDirectory, PORT: String(port) }).run("org", "list")
        assert.deepStrictEqual([unmigrated.code, unmigrated.out], [2, ""])
        assert.include(unmigrated.err, "lacks migration 1 (access): start a gateway of this version on it first")
      }),
    commandsTimeout
  )
})
