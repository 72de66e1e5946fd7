/** Runs `tollgate ledger` as an operator does: as a separate process, on the database of a gateway. */
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { audit, differences, unexplainedCharges } from "../../src/audit/Audit.ts"
import { Database } from "../../src/sql/Database.ts"
import { as, eventually, user } from "../support/Chat.ts"
import { root } from "../support/SourceTree.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"
import { tollgate } from "./Tollgate.ts"

const answered = { model: "gpt-4.1", messages: [user("Hello")] }
/** Requests that end in every possible way. The sandbox follows the fault directives in a message. */
const requests = [
  answered,
  { ...answered, stream: true },
  { model: "svc-auto", messages: [user("Write a haiku.")] },
  { model: "nobody-1", messages: [user("Hello")] },
  { model: "gpt-4o", messages: [user("[fault:400] No.")] },
  { model: "gpt-5.1", stream: true, messages: [user("[fault:length 30] [fault:cut after=5] No.")] }
]

/** Sends a request and disconnects after the first output. */
const leave = Effect.fnUntraced(function* (key: string) {
  const gateway = yield* TestGateway
  yield* Effect.promise(async () => {
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      signal: leaving.signal,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "claude-sonnet-5",
        stream: true,
        messages: [user("[fault:length 500] [fault:slow 20ms] Hello")]
      })
    })
    await response.body?.getReader().read()
    leaving.abort()
  })
})

describeGateway("tollgate ledger", (it) => {
  it.effect("finds an explanation for every charge of a gateway that has served all kinds of requests", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      for (const body of requests) yield* gateway.chat(body, as(tenant))
      yield* leave(tenant.key)
      const sql = yield* SqlClient.SqlClient
      const endings = sql<{ readonly outcome: string }>`
        SELECT receipt->>'outcome' AS outcome FROM request_receipt WHERE organization_id = ${tenant.organization}`
      const all = Effect.map(endings, (rows) => (rows.length > requests.length ? rows : undefined))
      const outcomes = (yield* eventually(all, "all receipts")).map(({ outcome }) => outcome)
      const expected = [
        "completed",
        "completed",
        "completed",
        "invalid_model",
        "invalid_request",
        "broken",
        "client_left"
      ]
      assert.sameMembers(outcomes, expected)
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
      const report = yield* audit
      assert.deepStrictEqual([report.findings, differences(report), unexplainedCharges(report)], [[], 0, 0])
      assert.deepStrictEqual([report.receipts, report.charges], [requests.length + 1, 4])
    })
  )

  it.effect(
    "verifies while a gateway runs on PostgreSQL, and says what to do if the gateway has the embedded database open",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const { engine } = yield* Database
        const sql = yield* SqlClient.SqlClient
        const { organization } = yield* gateway.tenant("2.5")
        const found = yield* tollgate(gateway.variables, ["ledger", "verify"])
        if (engine === "embedded") {
          assert.deepStrictEqual([found.code, found.out], [2, ""])
          assert.match(found.err, /A running gateway has the embedded database .*: stop that gateway/)
          return
        }
        assert.deepStrictEqual([found.code, found.err], [0, ""])
        assert.include(found.out, "0 differences, 0 unexplained charges")
        const balance = yield* tollgate(gateway.variables, ["ledger", "balance"])
        assert.include(balance.out, `${organization}  2.5 USD available, 0 USD held\n`)
        const balances = (yield* tollgate(gateway.variables, ["ledger", "balance", "--json"])).out.trimEnd().split("\n")
        assert.deepInclude(
          balances.map((line) => JSON.parse(line)),
          {
            organization_id: organization,
            available_usd: "2.5",
            held_usd: "0",
            available_picodollars: "2500000000000",
            held_picodollars: "0"
          }
        )

        yield* sql`UPDATE credit_account SET balance = balance + 1 WHERE organization_id = ${organization}`
        const text = yield* tollgate(gateway.variables, ["ledger", "verify"])
        assert.strictEqual(text.code, 1)
        assert.match(text.out, new RegExp(`account; organization ${organization}; expected entries 2500000000000,`))
        const json = yield* tollgate(gateway.variables, ["ledger", "verify", "--json"])
        assert.strictEqual(json.code, 1)
        const { clean, counts } = JSON.parse(json.out)
        assert.deepStrictEqual([clean, counts], [false, { account: 1 }])
      })
  )
})

describe("tollgate ledger without a gateway", () => {
  it.live("verifies the embedded database of a stopped gateway, and fails on unexplained charges only if strict", () =>
    Effect.gen(function* () {
      const directory = yield* dataDirectory
      const environment = { DATA_DIR: directory }
      const change = (statement: string) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(
          Effect.provide(Database.layer({ dataDir: directory, poolSize: 1 }), { local: true })
        )
      yield* change(`
        WITH entry AS (
          INSERT INTO credit_entry (id, organization_id, kind, amount)
          VALUES (gen_random_uuid(), '018f0000-0000-7000-8000-000000000001', 'charge', -5) RETURNING *
        ) INSERT INTO credit_account (organization_id, balance) SELECT organization_id, amount FROM entry`)
      const lenient = yield* tollgate(environment, ["ledger", "verify"])
      assert.deepStrictEqual([lenient.code, lenient.err], [0, ""])
      assert.include(lenient.out, "0 differences, 1 unexplained charges")
      assert.strictEqual((yield* tollgate(environment, ["ledger", "verify", "--strict"])).code, 1)
      yield* change("UPDATE credit_account SET held = 1, balance = balance - 1")
      const broken = yield* tollgate(environment, ["ledger", "verify", "--json"])
      assert.deepStrictEqual([broken.code, JSON.parse(broken.out).counts.account], [1, 1])
    })
  )

  it.live("leaves a database unchanged that no gateway has migrated", () =>
    Effect.gen(function* () {
      const environment = { DATA_DIR: yield* dataDirectory }
      for (const command of ["verify", "balance"]) {
        const refused = yield* tollgate(environment, ["ledger", command])
        assert.deepStrictEqual([refused.code, refused.out], [2, ""])
        assert.include(refused.err, "lacks migration 1 (access): start a gateway of this version on it first")
      }
    })
  )

  it.live("reports a wrong directory, a wrong server and a wrong subcommand", () =>
    Effect.gen(function* () {
      const absent = yield* tollgate({ DATA_DIR: join(root, "nowhere") }, ["ledger", "verify"])
      assert.deepStrictEqual([absent.code, absent.out], [2, ""])
      assert.include(absent.err, "There is no database in")
      const server = { DATABASE_URL: "postgres://postgres:secret@127.0.0.1:1/postgres" }
      const unreachable = yield* tollgate(server, ["ledger", "verify", "--json"])
      assert.deepStrictEqual([unreachable.code, unreachable.out], [2, ""])
      assert.include(unreachable.err, "ECONNREFUSED")
      assert.notInclude(unreachable.err, "secret")
      const typo = yield* tollgate(server, ["ledger", "verfy"])
      assert.strictEqual(typo.code, 2)
    })
  )
})
