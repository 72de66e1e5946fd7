/** Further names of models: those of the catalog file, and those that an organization gives. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { modelId } from "../../src/domain/Ids.ts"
import { as, receiptOf, user } from "../support/Chat.ts"
import { describeGateway, type Tenant, TestGateway } from "../support/TestGateway.ts"

const catalogFile = (): string => {
  const file = join(inject("scratch"), `aliases-${process.pid}.json`)
  writeFileSync(file, JSON.stringify({ aliases: { fast: "gpt-5-nano" } }))
  return file
}

const messages = [user("Hello there.")]

const ask = Effect.fnUntraced(function* (body: object, tenant?: Tenant) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat({ messages, ...body }, tenant && as(tenant))
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
})

const setAliases = Effect.fnUntraced(function* (tenant: Tenant, aliases: object | null) {
  const gateway = yield* TestGateway
  const path = `/admin/v1/organizations/${tenant.organization}`
  const changed = yield* gateway.admin("PATCH", path, { aliases })
  assert.deepStrictEqual([changed.status, changed.at("aliases")], [200, aliases], changed.text)
})

describeGateway(
  "An alias",
  (it) => {
    it.effect("of the catalog file is a name of its model, which answers and is shown by it", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const reply = yield* ask({ model: "fast" })
        assert.strictEqual(reply.at("model"), "gpt-5-nano")
        const receipt = yield* receiptOf(reply.at("id"))
        assert.deepStrictEqual([receipt.at("requested_model"), receipt.at("model")], ["fast", "gpt-5-nano"])
        const card = yield* gateway.request("GET", "/v1/models/fast")
        assert.strictEqual(card.at("id"), "gpt-5-nano")
        assert.strictEqual((yield* ask({ models: ["fast"] })).at("model"), "gpt-5-nano")
      })
    )

    it.effect("of an organization comes before the catalog, for that organization alone", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        yield* setAliases(tenant, { fast: "gpt-5-mini", "gpt-4o": "claude-haiku-4-5", smart: "auto" })
        const named = yield* ask({ model: "fast" }, tenant)
        assert.deepStrictEqual([named.at("model"), named.at("svc.routed")], ["gpt-5-mini", false])
        const receipt = yield* receiptOf(named.at("id"), tenant)
        assert.deepStrictEqual([receipt.at("requested_model"), receipt.at("model")], ["fast", "gpt-5-mini"])
        assert.strictEqual((yield* ask({ model: "gpt-4o" }, tenant)).at("model"), "claude-haiku-4-5")
        assert.strictEqual((yield* ask({ model: "fast" })).at("model"), "gpt-5-nano")
        const routed = yield* ask({ model: "smart", models: ["fast"], session_id: "s" }, tenant)
        assert.isTrue(routed.at("svc.routed"))
        assert.strictEqual((yield* receiptOf(routed.at("id"), tenant)).at("requested_model"), "smart")
        assert.isTrue((yield* ask({ models: ["smart", "fast"] }, tenant)).at("svc.routed"))
        const fallback = [user("[fault:503 first] Anybody?")]
        const second = yield* ask({ model: "fast", models: ["gpt-4o"], messages: fallback }, tenant)
        assert.strictEqual(second.at("model"), "claude-haiku-4-5")
        yield* setAliases(tenant, null)
      })
    )

    it.effect("is a name in every protocol of clients, and comes before what a protocol knows names by", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const old = "claude-3-5-haiku-20241022"
        const post = (path: string, body: object) => gateway.request("POST", path, body, as(tenant))
        const postByOther = (path: string, body: object) => gateway.request("POST", path, body)
        const message = { messages, max_tokens: 50 }
        const successor = yield* postByOther("/v1/messages", { ...message, model: old })
        assert.deepStrictEqual([successor.status, successor.at("model")], [200, "claude-haiku-4-5"], successor.text)
        assert.strictEqual((yield* receiptOf(successor.at("id"))).at("requested_model"), old)
        yield* setAliases(tenant, { mine: "gpt-5-mini", [old]: "gpt-5-mini", smart: "auto" })
        for (const model of ["mine", old]) {
          const reply = yield* post("/v1/messages", { ...message, model })
          assert.deepStrictEqual([reply.status, reply.at("model")], [200, "gpt-5-mini"], reply.text)
          assert.strictEqual((yield* receiptOf(reply.at("id"), tenant)).at("requested_model"), model)
          assert.strictEqual((yield* post("/v1/responses", { input: "Hi", model })).at("model"), "gpt-5-mini")
        }
        assert.isTrue((yield* post("/v1/messages", { ...message, model: "smart" })).at("svc.routed"))
        for (const model of ["mine", old, "smart", "claude-3-5-haiku-latest"]) {
          const counted = yield* post("/v1/messages/count_tokens", { messages, model })
          assert.strictEqual(counted.status, 200, counted.text)
        }
        const other = yield* postByOther("/v1/messages/count_tokens", { messages, model: "mine" })
        assert.strictEqual(other.at("error.code"), "invalid_model")
        yield* setAliases(tenant, null)
      })
    )

    it.effect("is allowed where its model is", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1", { models: [modelId("gpt-5-mini")] })
        yield* setAliases(tenant, { mine: "gpt-5-mini", other: "gpt-5" })
        assert.strictEqual((yield* ask({ model: "mine" }, tenant)).at("model"), "gpt-5-mini")
        const refused = yield* gateway.chat({ model: "other", messages }, as(tenant))
        assert.deepStrictEqual([refused.status, refused.at("error.code")], [403, "model_not_allowed"])
      })
    )

    it.effect("is recorded when it is set, and refused when there is no such chat model", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        yield* setAliases(tenant, { mine: "gpt-5-mini" })
        const trail = yield* gateway.admin("GET", `/admin/v1/audit_events?subject_id=${tenant.organization}`)
        assert.deepStrictEqual(trail.at("data.0.after.aliases"), { mine: "gpt-5-mini" }, trail.text)
        const path = `/admin/v1/organizations/${tenant.organization}`
        for (const aliases of [{ a: "nobody" }, { a: "whisper-large-v3-turbo" }, { "a b": "gpt-5" }, { a: "mine" }]) {
          const refused = yield* gateway.admin("PATCH", path, { aliases })
          assert.deepStrictEqual([refused.status, refused.at("error.code")], [400, "invalid_request"], refused.text)
          assert.match(String(refused.at("error.message")), /^aliases/)
        }
      })
    )
  },
  { CATALOG_FILE: catalogFile() }
)
