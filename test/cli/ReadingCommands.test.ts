/** `tollgate usage`, `requests`, `providers` and `catalog`, beside a running gateway and on a stopped one. */
import { assert, describe, it as plainIt } from "@effect/vitest"
import { Effect } from "effect"

import { Database } from "../../src/sql/Database.ts"
import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { as, eventually, type Json, user } from "../support/Chat.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { operator, refusingPort } from "./Operator.ts"

/** Every command is a process, on a machine that may be busy with other suites. */
const commandsTimeout = 600_000

const nobody = "018f0000-0000-7000-8000-00000000dead"

const rowsOf = (answer: Json) => answer["data"] as ReadonlyArray<Json>

onEmbedded.sandbox("tollgate beside a gateway, asked what was done", (it) => {
  it.effect(
    "tells usage, requests, receipts, the catalog and the state of the providers",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const body = { messages: [user("hi")], max_completion_tokens: 5, metadata: { call_name: "=1+1" } }
        for (const model of ["gpt-4o-mini", "svc-auto", "nobody"]) yield* gateway.chat({ ...body, model }, as(tenant))
        const { json, lines, run } = operator({ ...gateway.variables, TOLLGATE_URL: gateway.url })
        const own = ["--org", tenant.organization]
        const listed = yield* eventually(
          Effect.map(json("requests", "list", ...own), (list) =>
            rowsOf(list).length === 3 ? rowsOf(list) : undefined
          ),
          "all requests"
        )
        const routed = yield* json("requests", "list", ...own, "--routed", "true", "--from", "2h", "--min-cost", "0")
        assert.deepStrictEqual(rowsOf(routed), listed.slice(1, 2))
        const [head, ...rest] = yield* lines("requests", "list", ...own, "--outcome", "completed")
        assert.match(head ?? "", /^at +id +outcome +model +attempts +cost_usd$/)
        assert.lengthOf(rest, 2)
        const id = String(listed[1]?.["id"])
        const receipt = (yield* lines("requests", "show", id)).join("\n")
        assert.match(receipt, new RegExp(`^request +${id}\\n`))
        assert.match(receipt, /\n\S+\/\S+ +answered +\d+\.\d ms +\|[ #]{40}\|\n/)
        assert.include(receipt, ` USD were held, ${String(listed[1]?.["cost_usd"])} USD were charged.`)
        assert.match(receipt, /\ncandidate +distance +expected USD\n/)
        assert.deepInclude(yield* json("requests", "show", id), { object: "request_receipt", id })
        const csv = yield* lines("requests", "list", ...own, "--csv")
        assert.lengthOf(csv, 4)
        assert.include(csv[1], ",'=1+1,")
        const usage = yield* json("usage", ...own, "--by", "model,call-name", "--interval", "month")
        assert.strictEqual(
          rowsOf(usage).reduce((sum, { requests }) => sum + Number(requests), 0),
          3
        )
        const table = yield* lines("usage", ...own, "--by", "outcome", "--from", "1d", "--zone", "Asia/Kathmandu")
        assert.match(table[0] ?? "", /^group\.outcome +requests +input_tokens .* cost_usd$/)
        assert.match(table[1] ?? "", /^completed +2 /)
        assert.include((yield* lines("usage", ...own, "--by", "call-name", "--csv"))[1], "'=1+1,3,")
        const providers = yield* lines("providers", "--enabled", "true")
        assert.match(providers[0] ?? "", /^gateway \S+$/)
        assert.match(providers.join("\n"), /\nopenai +openai\/gpt-4o-mini +breaker closed +-\n/)
        assert.strictEqual((yield* json("providers", "--limit", "1"))["object"], "list")
        assert.match(
          (yield* lines("catalog", "--served", "true", "--all")).join("\n"),
          /\ngpt-4o-mini +chat +openai +true +/
        )
        const bad: ReadonlyArray<readonly [words: string, code: number, message: RegExp]> = [
          ["usage --by planet", 1, /^tollgate: invalid_request: by: "planet" is none of org, project/m],
          ["usage --from soon", 2, /how long ago/],
          ["usage --zone Mars", 1, /^tollgate: invalid_request: time_zone: /m],
          ["requests show 1", 1, /^tollgate: invalid_request: id: /m],
          [`requests show ${nobody}`, 1, /^tollgate: not_found: There is no such request$/m],
          ["requests list --min-cost much", 1, /^tollgate: invalid_request: min_cost_usd: /m],
          ["requests list --org nobody", 1, /^tollgate: not_found: There is no organization "nobody"$/m]
        ]
        for (const [words, code, message] of bad) {
          const ended = yield* run(...words.split(" "))
          assert.strictEqual(ended.code, code, `${words}\n${ended.err}`)
          assert.match(ended.err, message, words)
        }
      }),
    commandsTimeout
  )
})

describe("tollgate on the database of a stopped gateway, asked what was done", () => {
  plainIt.live(
    "tells usage and requests, and that providers are for a running gateway",
    () =>
      Effect.gen(function* () {
        const directory = yield* dataDirectory
        yield* Effect.void.pipe(Effect.provide(Database.layer({ dataDir: directory, poolSize: 1 }), { local: true }))
        const { port } = yield* refusingPort
        const { json, run } = operator({ DATA_DIR: directory, PORT: String(port) })
        assert.deepStrictEqual(rowsOf(yield* json("requests", "list")), [])
        assert.deepStrictEqual(rowsOf(yield* json("usage", "--by", "model")), [])
        for (const command of ["providers", "catalog"]) {
          const ended = yield* run(command)
          assert.deepStrictEqual([ended.code, ended.out], [2, ""])
          assert.match(ended.err, /^tollgate: This is for a running gateway, and none listens on .* with --url or /m)
        }
      }),
    commandsTimeout
  )
})
