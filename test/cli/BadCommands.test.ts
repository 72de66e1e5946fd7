/** What `tollgate` answers to commands that are wrong, to whom it answers, and how it finds the gateway. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { operator, refusingPort } from "./Operator.ts"
import { tollgate, tollgateInProcess } from "./Tollgate.ts"

/** Some commands are processes, on a machine that may be busy with other suites. */
const commandsTimeout = 600_000

const nobody = "018f0000-0000-7000-8000-00000000dead"

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
        const { lines, run } = operator({ ...variables, TOLLGATE_URL: url }, tollgateInProcess)
        yield* lines("credit", "grant", "default", "1", "--payment", "taken", "--reason", "r")
        const newest = sql<{ readonly id: string }>`SELECT id FROM audit_event ORDER BY id DESC LIMIT 1`
        const before = yield* newest
        for (const [words, code, message] of badCommands) {
          const ended = yield* run(...words.split(" "))
          assert.strictEqual(ended.code, code, `${words}\n${ended.err}`)
          assert.match(ended.err, message, words)
          if (code === 1) assert.strictEqual(ended.out, "", words)
        }
        // What a process adds: its own exit code, and streams that are apart.
        for (const words of badCommands.filter((_, index) => index % 10 === 0).map(([text]) => text.split(" "))) {
          const [inside, outside] = [yield* run(...words), yield* tollgate({ ...variables, TOLLGATE_URL: url }, words)]
          assert.deepStrictEqual(outside, inside)
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
        const { json, lines, run } = operator(own, tollgateInProcess)
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
        const ada = operator({ ...own, ADMIN_API_KEY: String(issued["secret"]) }, tollgateInProcess)
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
        const named = yield* json("org", "aliases", "Page 1", "--alias", "fast=gpt-4o-mini", "--alias", "smart=auto")
        assert.deepStrictEqual(named["aliases"], { fast: "gpt-4o-mini", smart: "auto" })
        for (const flags of [[], ["--clear", "--alias", "a=auto"], ["--alias", "a=nobody"], ["--alias", "a"]])
          assert.strictEqual((yield* run("org", "aliases", "Page 1", ...flags)).code, 1, flags.join(" "))
        assert.isNull((yield* json("org", "aliases", "Page 1", "--clear"))["aliases"])
      }),
    commandsTimeout
  )
})
