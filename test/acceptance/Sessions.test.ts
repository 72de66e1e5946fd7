import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { modelId, type OrganizationId } from "../../src/domain/Ids.ts"
import { as, at, chunksOf, receiptOf, singleEndpointModels, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, type Tenant, TestGateway } from "../support/TestGateway.ts"

const easy = [user("What is the capital of Australia?")]
const hard = [
  user(
    "Prove that every finite abelian group is isomorphic to a direct product of cyclic groups of prime power order. " +
      "Be rigorous, state every lemma, and derive the number of such groups of order 10000."
  )
]
const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }
const withImage = [{ role: "user", content: [image] }]

/** Sends a request. Gives the model that answered, whether it was pinned, and the receipt. */
const ask = Effect.fnUntraced(function* (tenant: Tenant, body: object, headers: Record<string, string> = {}) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat(body, { ...as(tenant), ...headers })
  assert.strictEqual(reply.status, 200, reply.text)
  const receipt = yield* receiptOf(reply.at("id"), tenant)
  return { model: String(reply.at("model")), pinned: receipt.at("routing.pinned"), receipt, reply }
})

const pinsOf = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly model: string; readonly minutes: number }>`
    SELECT model, (extract(epoch FROM expires_at - now()) / 60)::float8 AS minutes
    FROM session_pin WHERE organization_id = ${organization}`
})

/** Makes the pins of an organization older by this number of minutes. */
const age = Effect.fnUntraced(function* (organization: OrganizationId, minutes: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE session_pin SET expires_at = expires_at - ${minutes} * interval '1 minute'
    WHERE organization_id = ${organization}`
})

describeGateway("A session", (it) => {
  it.effect("stays on the model that answered first, streamed or not, whatever the next request", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const first = yield* ask(tenant, { messages: easy, session_id: "s" })
      const unpinned = yield* ask(tenant, { messages: hard })
      const second = yield* ask(tenant, { messages: hard, session_id: "s", model: null })
      const off = yield* ask(tenant, { messages: hard, session_id: "s", model: "svc-auto", reasoning_effort: "low" })
      assert.notStrictEqual(unpinned.model, first.model)
      assert.deepStrictEqual([second.model, off.model], [first.model, first.model])
      assert.deepStrictEqual([first.pinned, unpinned.pinned, second.pinned], [false, false, true])
      assert.isTrue(second.reply.at("svc.routed"))
      assert.strictEqual(second.reply.at("svc.routed_model"), first.model)
      const streamed = yield* gateway.chat({ messages: hard, session_id: "s", stream: true }, as(tenant))
      assert.strictEqual(chunksOf(streamed.text)[0]?.["model"], first.model)
    })
  )

  it.effect("has its id in the body or in a header, and the body takes precedence", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const [one, two] = [{ "x-session-id": "one" }, { "x-session-id": "two" }]
      const first = yield* ask(tenant, { messages: easy }, one)
      const second = yield* ask(tenant, { messages: hard }, two)
      assert.notStrictEqual(first.model, second.model)
      assert.strictEqual((yield* ask(tenant, { messages: hard, session_id: "one" })).model, first.model)
      assert.strictEqual((yield* ask(tenant, { messages: easy, session_id: "two" })).model, second.model)
      assert.strictEqual((yield* ask(tenant, { messages: hard, session_id: "one" }, two)).model, first.model)
      assert.strictEqual((yield* ask(tenant, { messages: hard, session_id: null }, one)).model, first.model)
      assert.lengthOf(yield* pinsOf(tenant.organization), 2)
    })
  )

  it.effect("expires fifteen minutes after its last use", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const { organization } = tenant
      const first = yield* ask(tenant, { messages: easy, session_id: "s" })
      assert.closeTo((yield* pinsOf(organization))[0]?.minutes ?? 0, 15, 0.5)
      yield* age(organization, 14)
      assert.strictEqual((yield* ask(tenant, { messages: hard, session_id: "s" })).model, first.model)
      assert.closeTo((yield* pinsOf(organization))[0]?.minutes ?? 0, 15, 0.5)
      yield* age(organization, 16)
      const anew = yield* ask(tenant, { messages: hard, session_id: "s" })
      assert.notStrictEqual(anew.model, first.model)
      assert.isFalse(anew.pinned)
      assert.strictEqual((yield* ask(tenant, { messages: easy, session_id: "s" })).model, anew.model)
    })
  )

  it.effect("moves to a model with image input with its first image, and stays there", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const models = ["codestral-latest", "gpt-4.1"].map((id) => modelId(id))
      const tenant = yield* gateway.tenant("1", { models })
      const body = { session_id: "s", reasoning_effort: "none" }
      const narrow = yield* gateway.tenant("1", { models: models.slice(0, 1) })
      assert.strictEqual((yield* ask(narrow, { ...body, messages: easy })).model, "codestral-latest")
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE session_pin SET organization_id = ${tenant.organization}
        WHERE organization_id = ${narrow.organization}`
      assert.strictEqual((yield* ask(tenant, { ...body, messages: easy })).model, "codestral-latest")
      const moved = yield* ask(tenant, { ...body, messages: withImage })
      assert.deepStrictEqual([moved.model, moved.pinned], ["gpt-4.1", false])
      const stayed = yield* ask(tenant, { ...body, messages: easy })
      assert.deepStrictEqual([stayed.model, stayed.pinned], ["gpt-4.1", true])
    })
  )

  it.effect("belongs to its organization", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const [mine, theirs] = [yield* gateway.tenant("1"), yield* gateway.tenant("1")]
      const first = yield* ask(mine, { messages: easy, session_id: "shared" })
      const other = yield* ask(theirs, { messages: hard, session_id: "shared" })
      assert.notStrictEqual(other.model, first.model)
      assert.isFalse(other.pinned)
    })
  )

  it.effect("is not touched by direct calls", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      yield* ask(tenant, { model: "gpt-4o", messages: easy, session_id: "s" })
      assert.deepStrictEqual(yield* pinsOf(tenant.organization), [])
      const first = yield* ask(tenant, { messages: easy, session_id: "s" })
      assert.strictEqual((yield* ask(tenant, { model: "gpt-4o", messages: easy, session_id: "s" })).model, "gpt-4o")
      assert.strictEqual((yield* ask(tenant, { messages: hard, session_id: "s" })).model, first.model)
    })
  )

  it.effect("is answered by other models while its model fails, and returns to it", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1", { models: singleEndpointModels })
      const first = yield* ask(tenant, { messages: easy, session_id: "s" })
      const failing = [user(`[fault:429 on=${first.model}] And of New Zealand?`)]
      const detour = yield* ask(tenant, { messages: failing, session_id: "s" })
      assert.notStrictEqual(detour.model, first.model)
      assert.strictEqual(detour.reply.at("svc.routed_model"), detour.model)
      assert.strictEqual(at(detour.receipt.at("attempts"), 0, "model"), first.model)
      assert.strictEqual((yield* ask(tenant, { messages: hard, session_id: "s" })).model, first.model)
    })
  )

  it.effect("that begins with concurrent requests is pinned once", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const bodies = Array.from({ length: 8 }, (_, index) => ({ messages: index % 2 ? easy : hard, session_id: "s" }))
      const answers = yield* Effect.forEach(bodies, (body) => ask(tenant, body), { concurrency: "unbounded" })
      const [pin, ...others] = yield* pinsOf(tenant.organization)
      assert.lengthOf(others, 0)
      assert.deepStrictEqual(new Set(answers.map(({ model }) => model)), new Set([pin?.model]))
    })
  )

  it.effect("does not exist for an empty id", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      yield* ask(tenant, { messages: easy, session_id: "" })
      yield* ask(tenant, { messages: easy }, { "x-session-id": "" })
      assert.deepStrictEqual(yield* pinsOf(tenant.organization), [])
    })
  )
})

describeWithFakeProvider("A session id", (it) => {
  it.effect("reaches providers only as a key that reveals nothing about the client", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.answers("ok"))
      const body = { model: "gpt-5.2", messages: easy, session_id: "alice@example.org" }
      yield* gateway.chat(body)
      yield* gateway.chat({ ...body, session_id: undefined }, { "x-session-id": "alice@example.org" })
      yield* gateway.chat(body, as(yield* gateway.tenant("1")))
      const sent = provider.received
      assert.notInclude(JSON.stringify(sent), "alice@example.org")
      const keys = sent.map((request) => request.body["prompt_cache_key"])
      assert.match(String(keys[0]), /^[0-9a-f]{40}$/)
      assert.strictEqual(keys[1], keys[0])
      assert.notStrictEqual(keys[2], keys[0])
    })
  )
})
