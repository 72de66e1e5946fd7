/** `tollgate webhook`, on the database of a stopped gateway: there nothing is sent while the commands are looked at. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { dataDirectory } from "../support/TestDatabase.ts"
import { operator, rowsOf, stoppedGateway } from "./Operator.ts"
import { tollgateInProcess } from "./Tollgate.ts"

const nobody = "018f0000-0000-7000-8000-00000000dead"

const target = "https://example.com/hook"

describe("tollgate webhook", () => {
  it.live(
    "sets where alerts are sent, and tells what came of them",
    () =>
      Effect.gen(function* () {
        const variables = yield* stoppedGateway({ DATA_DIR: yield* dataDirectory })
        const { json, lines, run } = operator(variables, tollgateInProcess)
        yield* json("org", "create", "Acme")
        const note = ["--event", "balance.low", "--org", "Acme", "--description", "billing"]
        const made = yield* json("webhook", "create", target, ...note)
        const id = String(made["id"])
        assert.deepInclude(made, { url: target, events: ["balance.low"], description: "billing", disabled_at: null })
        assert.match(String(made["secret"]), /^whsec_/)
        const { secret, ...shown } = made
        assert.deepStrictEqual(yield* json("webhook", "get", id), shown)
        assert.deepStrictEqual(rowsOf(yield* json("webhook", "list", "--org", "Acme")), [shown])
        const rotated = yield* json("webhook", "rotate-secret", id, "--overlap", "24h")
        assert.match(String(rotated["secret"]), /^whsec_/)
        assert.notStrictEqual(rotated["secret"], secret)
        assert.isString((yield* json("webhook", "disable", id))["disabled_at"])
        const silent = yield* run("webhook", "test", id)
        assert.deepStrictEqual([silent.code, silent.out], [1, ""])
        assert.match(silent.err, /^tollgate: conflict: .*disabled/m)
        assert.isNull((yield* json("webhook", "enable", id))["disabled_at"])
        const sent = yield* json("webhook", "test", id)
        assert.deepInclude(sent, { event_type: "webhook.test", webhook_id: id, status: "pending", attempts: 0 })
        const delivery = String(sent["id"])
        const [head, row] = yield* lines("webhook", "deliveries", "--webhook", id, "--status", "pending")
        assert.match(head ?? "", /^id +created_at +event_type +webhook_id +status +attempts +next_attempt_at$/)
        assert.match(row ?? "", new RegExp(`^${delivery} +\\S+ +webhook\\.test +${id} +pending +0 `))
        assert.deepStrictEqual(rowsOf(yield* json("webhook", "deliveries", "--status", "failed")), [])
        assert.deepInclude(yield* json("webhook", "delivery", delivery), { id: delivery, attempt_log: [] })
        assert.deepInclude(yield* json("webhook", "redeliver", delivery), { id: delivery, status: "pending" })
        const again = yield* run("webhook", "redeliver", nobody)
        assert.deepStrictEqual([again.code, again.out], [1, ""])
        assert.match(again.err, /^tollgate: not_found: .*delivery/m)
        const kept = yield* run("webhook", "delete", id)
        assert.match(kept.err, /^tollgate: This deletes webhook .*: give --yes if that is meant$/m)
        assert.deepInclude(yield* json("webhook", "delete", id, "--yes"), { id, deleted: true })
        assert.strictEqual((yield* run("webhook", "get", id)).code, 1)
        const actions = rowsOf(yield* json("audit", "--subject", id)).map(({ action }) => action)
        assert.deepStrictEqual(actions, [
          "webhook.delete",
          "webhook.enable",
          "webhook.disable",
          "webhook.rotate_secret",
          "webhook.create"
        ])
      }),
    600_000
  )
})

describe("tollgate budget, key and org", () => {
  it.live(
    "change and take away limits, of which each can be shown by itself",
    () =>
      Effect.gen(function* () {
        const variables = yield* stoppedGateway({ DATA_DIR: yield* dataDirectory })
        const { json, run } = operator(variables, tollgateInProcess)
        yield* json("org", "create", "Acme", "--with-key")
        const limits = ["--rpm", "7", "--tpm", "700", "--concurrent", "2", "--low-balance", "0.5", "--hard-cap", "true"]
        yield* json("org", "set", "Acme", ...limits)
        const cleared = ["rpm", "tpm", "concurrent", "low-balance"].flatMap((name) => ["--clear", name])
        assert.deepInclude(yield* json("org", "set", "Acme", ...cleared, "--hard-cap", "false"), {
          requests_per_minute: null,
          tokens_per_minute: null,
          concurrent_requests: null,
          low_balance_usd: null,
          hard_cap: false
        })
        const [key] = rowsOf(yield* json("key", "list", "--org", "Acme"))
        const id = String(key?.["id"])
        const limited = yield* json("key", "update", id, "--tpm", "900", "--concurrent", "3")
        assert.deepInclude(limited, { tokens_per_minute: 900, concurrent_requests: 3, requests_per_minute: null })
        assert.deepStrictEqual(yield* json("key", "get", id), limited)
        for (const limit of ["--tpm", "--concurrent", "--rpm"])
          for (const words of [
            ["key", "update", id, limit, "0"],
            ["org", "set", "Acme", limit, "0"]
          ])
            assert.match((yield* run(...words)).err, /^tollgate: invalid_request: \w+: /m, words.join(" "))
        const budget = yield* json("budget", "create", "5", "--period", "week", "--key", id)
        assert.deepStrictEqual(yield* json("budget", "show", String(budget["id"])), budget)
        yield* json("org", "rename", "Acme", "Umbrella")
        yield* json("org", "close", "Umbrella", "--yes")
        assert.isNull((yield* json("org", "reopen", "Umbrella"))["closed_at"])
      }),
    600_000
  )
})
