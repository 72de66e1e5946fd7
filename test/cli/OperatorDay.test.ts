/**
 * `tollgate org`, `project`, `env`, `key`, `credit`, `admin-key` and `audit` as an operator runs them: as separate
 * processes, beside a running gateway over HTTP, and on the database of a stopped one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"

import { Database } from "../../src/sql/Database.ts"
import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { user } from "../support/Chat.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { dataDirectory, postgresDatabase } from "../support/TestDatabase.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"
import { closeAcme, openAcme, operator, refusingPort } from "./Operator.ts"

/** Every command is a process, on a machine that may be busy with other suites. */
const commandsTimeout = 600_000

const nobody = "018f0000-0000-7000-8000-00000000dead"

describeGateway("tollgate beside a gateway", (it) => {
  it.effect(
    "does the day of an operator over HTTP",
    () =>
      Effect.gen(function* () {
        const { chat, url, variables } = yield* TestGateway
        const commands = operator({ ...variables, TOLLGATE_URL: url })
        const { key, organization, secret } = yield* openAcme(commands)
        const body = { model: "gpt-4o-mini", messages: [user("Hello")] }
        const answer = yield* chat(body, { authorization: `Bearer ${secret}` })
        assert.strictEqual(answer.status, 200, answer.text)
        const journal = yield* closeAcme(commands, key, "ADMIN_API_KEY")
        assert.match(journal[0] ?? "", /^at +kind +amount_usd +payment_id +reason +id$/)
        assert.match(journal[1] ?? "", / correction +-0\.5 +c-1 +charged twice /)
        assert.match(journal[2] ?? "", / charge +-0\.0000\d+ +- +- /)
        assert.match(journal[3] ?? "", / grant +25 +inv-17 +contract of March /)
        assert.strictEqual((yield* commands.json("org", "get", organization))["name"], "Acme")
      }),
    commandsTimeout
  )
})

/** A database as a gateway leaves it, with `variables` that name it and an address on which nothing listens. */
const stoppedGateway = Effect.fnUntraced(function* (database: Environment) {
  yield* Effect.void.pipe(
    Effect.provide(
      Database.layer({
        ...(database["DATABASE_URL"] !== undefined && { url: Redacted.make(database["DATABASE_URL"]) }),
        dataDir: database["DATA_DIR"] ?? "unused",
        poolSize: 1
      }),
      { local: true }
    )
  )
  const { port } = yield* refusingPort
  return { ...database, PORT: String(port) }
})

const dayWithoutGateway = Effect.fnUntraced(function* (database: Environment) {
  const commands = operator(yield* stoppedGateway(database))
  const { key } = yield* openAcme(commands)
  assert.lengthOf(yield* closeAcme(commands, key, "command line"), 3)
  const { code, err, out } = yield* commands.run("org", "get", nobody)
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

/** Commands that fail, with the exit code and the message. */
const badCommands: ReadonlyArray<readonly [string, number, RegExp]> = [
  ["org get Nobody", 1, /^tollgate: not_found: There is no organization "Nobody"$/m],
  [`org get ${nobody}`, 1, /^tollgate: not_found: There is no such organization$/m],
  ["org create ", 1, /^tollgate: invalid_request: name: /m],
  ["org list --limit 201", 1, /^tollgate: invalid_request: limit: /m],
  ["org list --url nowhere", 2, /a URL such as/],
  ["org list --closed perhaps", 2, /closed/],
  ["org close default", 1, /^tollgate: This refuses every key of organization default: give --yes/m],
  ["org shut default", 2, /shut/],
  ["project create default default", 1, /^tollgate: conflict: name: "default" is taken$/m],
  ["env list default", 1, /^tollgate: invalid_request: project: must be an id, or names such as Acme\/shop$/m],
  ["key get 1", 1, /^tollgate: invalid_request: id: /m],
  [`key revoke ${nobody}`, 1, /^tollgate: This revokes key .* for good: give --yes/m],
  [`key revoke ${nobody} --yes`, 1, /^tollgate: not_found: There is no such key$/m],
  [`key rotate ${nobody} --overlap soon`, 2, /a number with a unit/],
  ["key issue --environment default/default/default", 2, /--name/],
  ["key issue --name x --environment default/default/default --expires soon", 2, /expires/],
  ["key issue --name x --environment default/default/default --rpm 0", 1, /: requests_per_minute: /],
  ["key issue --name x --environment default/default/default --model gpt-9", 1, /: models\[0\]: must be the id of/],
  ["key issue --name x --environment default/default/default --endpoint x", 2, /endpoint/],
  ["credit grant default -1 --payment p --reason r", 1, /: amount_usd: must be more than zero$/m],
  ["credit grant default 1e3 --payment p --reason r", 1, /: amount_usd: /],
  ["credit correct default 0 --payment p --reason r", 1, /: amount_usd: must not be zero$/m],
  ["credit grant default 2 --payment taken --reason r", 1, /^tollgate: idempotency_conflict: payment_id: /m],
  ["credit grant default 2 --reason r", 2, /--payment/],
  ["audit --subject x", 1, /: subject_id: /]
]

onEmbedded.sandbox("tollgate beside a gateway, given what is wrong", (it) => {
  it.effect(
    "names the fault, says with the exit code whose it is, and changes nothing",
    () =>
      Effect.gen(function* () {
        const { url, variables } = yield* TestGateway
        const sql = yield* SqlClient.SqlClient
        const { lines, run } = operator({ ...variables, TOLLGATE_URL: url })
        yield* lines("credit", "grant", "default", "1", "--payment", "taken", "--reason", "r")
        const newest = sql<{ readonly id: string }>`SELECT id FROM audit_event ORDER BY id DESC LIMIT 1`
        const before = yield* newest
        for (const [words, code, message] of badCommands) {
          const ended = yield* run(...words.split(" "))
          assert.strictEqual(ended.code, code, `${words}\n${ended.err}`)
          assert.match(ended.err, message, words)
          if (code === 1) assert.strictEqual(ended.out, "", words)
        }
        assert.deepStrictEqual(yield* newest, before)
      }),
    commandsTimeout
  )

  it.effect(
    "needs an admin key that the gateway knows, and asks the gateway that was named or none",
    () =>
      Effect.gen(function* () {
        const { url, variables } = yield* TestGateway
        const unknown = yield* operator({ ADMIN_API_KEY: "tg-admin-nobody" }).run("org", "list", "--url", url)
        assert.deepStrictEqual([unknown.code, unknown.out], [2, ""])
        assert.match(unknown.err, /^tollgate: unauthorized: This route takes an admin key/)
        assert.notInclude(unknown.err, "nobody")
        const without = yield* operator({ TOLLGATE_URL: url }).run("org", "list")
        assert.deepStrictEqual([without.code, without.out], [2, ""])
        assert.include(without.err, "tollgate: Set ADMIN_API_KEY to an admin key of the gateway at")
        const { port } = yield* refusingPort
        const elsewhere = yield* operator(variables).run("org", "list", "--url", `http://127.0.0.1:${port}`)
        assert.deepStrictEqual([elsewhere.code, elsewhere.out], [2, ""])
        assert.include(elsewhere.err, "ECONNREFUSED")
        const locked = yield* operator({ ...variables, PORT: String(port) }).run("org", "list")
        assert.deepStrictEqual([locked.code, locked.out], [2, ""])
        assert.match(locked.err, /A running gateway has the embedded database .* with --url or TOLLGATE_URL$/m)
      }),
    commandsTimeout
  )

  it.effect(
    "finds the gateway at HOST and PORT, turns pages, and issues admin keys that work",
    () =>
      Effect.gen(function* () {
        const { admin, url, variables } = yield* TestGateway
        const names = Array.from({ length: 5 }, (_, index) => `Page ${index}`)
        for (const name of names) yield* admin("POST", "/admin/v1/organizations", { name })
        const own = { ...variables, HOST: "127.0.0.1", PORT: new URL(url).port }
        const { json, lines, run } = operator(own)
        const list = ["org", "list", "--name", "page", "--limit", "2"]
        const all = (yield* json(...list, "--all"))["data"] as ReadonlyArray<{ readonly name: string }>
        assert.deepStrictEqual(
          all.map(({ name }) => name),
          names.toReversed()
        )
        assert.lengthOf(yield* lines(...list, "--all"), 6)
        const first = yield* run(...list)
        const cursor = /^There are more: --all, or --cursor (\S+)$/m.exec(first.err)?.[1] ?? ""
        const second = yield* lines(...list, "--cursor", cursor)
        assert.deepStrictEqual(
          second.slice(1).map((line) => line.split(/ {2,}/)[1]),
          ["Page 2", "Page 1"]
        )
        const issued = yield* json("admin-key", "issue", "Ada")
        const ada = operator({ ...own, ADMIN_API_KEY: String(issued["secret"]) })
        yield* ada.lines("org", "rename", "Page 0", "Page zero")
        assert.match((yield* lines("audit", "--limit", "1"))[1] ?? "", / Ada +organization\.update /)
        assert.isString((yield* json("admin-key", "revoke", String(issued["id"]), "--yes"))["revoked_at"])
        const priced = yield* json("org", "pricing", "Page 1", "--factor", "1.25", "--model", "gpt-4o-mini=1.5")
        assert.deepStrictEqual(priced["pricing"], { factor: "1.25", models: { "gpt-4o-mini": { factor: "1.5" } } })
        for (const flags of [
          ["--factor", "1e3"],
          ["--factor", "2", "--clear"]
        ])
          assert.strictEqual((yield* run("org", "pricing", "Page 1", ...flags)).code, 1, flags.join(" "))
        assert.isNull((yield* json("org", "pricing", "Page 1", "--clear"))["pricing"])
      }),
    commandsTimeout
  )
})
