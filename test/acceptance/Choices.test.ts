/** What clients choose by `models`, `provider` and `svc`, in the spelling of OpenRouter. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { modelId } from "../../src/domain/Ids.ts"
import { as, chunksOf, costOf, type Json, receiptOf, user } from "../support/Chat.ts"
import { describeGateway, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"

const at = (provider: string, input: number, output: number) => ({ provider, price_usd_per_mtok: { input, output } })

/** Models of their own for each test that breaks one, because the circuit breaker of an endpoint may then be open. */
const overlay = (): string => {
  const file = join(inject("scratch"), `choices-${process.pid}.json`)
  const model = (id: string, ...endpoints: ReadonlyArray<object>) => ({
    id,
    context_window: 64_000,
    max_output: 4_000,
    endpoints
  })
  const trio = [at("openai", 1, 2), at("anthropic", 3, 4), at("groq", 0.5, 8)]
  const names = ["trio", "trio-down", "trio-alone", "trio-ordered", "trio-fast"]
  const soloists = ["a", "b", "c", "d", "e", "f", "g", "h"].map((name, index) =>
    model(`solo-${name}`, at(index % 2 === 0 ? "mistral" : "xai", 1, 1))
  )
  const unknown = { id: "elsewhere", protocol: "openai-chat", auth: "none", base_url: "http://127.0.0.1:9/v1" }
  const models = [...names.map((name) => model(name, ...trio)), ...soloists, model("odd", at("elsewhere", 1, 1))]
  writeFileSync(file, JSON.stringify({ providers: [unknown], models }))
  return file
}

const hello = [user("Hello there.")]
const broken = (text: string) => [user(`[fault:503 first] ${text}`)]

/** Sends a request that is answered. Gives the answer and its receipt. */
const ask = Effect.fnUntraced(function* (body: object, tenant?: Tenant) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat({ messages: hello, ...body }, tenant && as(tenant))
  assert.strictEqual(reply.status, 200, reply.text)
  const receipt = yield* receiptOf(reply.at("id"), tenant)
  return { reply, receipt, endpoint: receipt.at("endpoint") }
})

/** Sends a request that is refused. Gives the status, the code and the message. */
const refused = Effect.fnUntraced(function* (body: object, tenant?: Tenant) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat({ messages: hello, ...body }, tenant && as(tenant))
  return [reply.status, reply.at("error.code"), String(reply.at("error.message"))] as const
})

const endpointsOf = (receipt: { readonly at: (path: string) => unknown }): ReadonlyArray<unknown> => [
  ...new Set((receipt.at("attempts") as ReadonlyArray<Json>).map(({ endpoint }) => endpoint))
]

describeGateway(
  "The choice of models",
  (it) => {
    it.effect(
      "falls back in their order, and the answer, its price and its receipt are those of the one that served",
      () =>
        Effect.gen(function* () {
          const body = { model: "solo-a", models: ["solo-b", "solo-c"], messages: broken("Anybody?") }
          const { receipt, reply } = yield* ask(body)
          assert.deepStrictEqual([reply.at("model"), reply.at("svc.routed")], ["solo-b", false])
          const tokens = Number(reply.at("usage.prompt_tokens")) + Number(reply.at("usage.completion_tokens"))
          assert.strictEqual(costOf(JSON.parse(reply.text)), BigInt(tokens) * 1_000_000n)
          assert.deepStrictEqual(endpointsOf(receipt), ["mistral/solo-a", "xai/solo-b"])
          assert.deepStrictEqual([receipt.at("requested_model"), receipt.at("model")], ["solo-a", "solo-b"])
          assert.deepStrictEqual(receipt.at("choices"), { models: ["solo-b", "solo-c"] })
        })
    )

    it.effect("takes the first of them when there is no model, in a stream as well", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const { reply } = yield* ask({ models: ["solo-d", "solo-c"] })
        assert.deepStrictEqual([reply.at("model"), reply.at("svc.routed")], ["solo-d", false])
        const messages = broken("In pieces?")
        const streamed = yield* gateway.chat({ models: ["solo-d", "solo-c"], messages, stream: true })
        const models = new Set(chunksOf(streamed.text).map(({ model }) => model))
        assert.deepStrictEqual([...models], ["solo-c"])
      })
    )

    it.effect("fails over from a routed model to those that are named, and to no other", () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestGateway).tenant("1")
        const body = { model: "svc-auto", models: ["solo-e"], messages: broken("Who else?") }
        const { receipt, reply } = yield* ask(body, tenant)
        assert.deepStrictEqual([reply.at("model"), reply.at("svc.routed")], ["solo-e", true])
        assert.strictEqual(endpointsOf(receipt).at(-1), "mistral/solo-e")
        assert.strictEqual(receipt.at("routing.candidates.0.model"), receipt.at("attempts.0.model"))
      })
    )

    it.effect("passes over models that the key may not use, and is 403 when there is no other", () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestGateway).tenant("1", { models: [modelId("solo-g")] })
        const { receipt, reply } = yield* ask({ model: "solo-f", models: ["solo-g"] }, tenant)
        assert.strictEqual(reply.at("model"), "solo-g")
        assert.deepStrictEqual(endpointsOf(receipt), ["mistral/solo-g"])
        const [status, code, message] = yield* refused({ models: ["solo-f", "solo-h"] }, tenant)
        assert.deepStrictEqual([status, code], [403, "model_not_allowed"])
        assert.match(message, /solo-f.*solo-h/)
      })
    )

    const refusals: ReadonlyArray<readonly [body: object, status: number, code: string, message: RegExp]> = [
      [{ models: ["solo-f", "nobody"] }, 400, "invalid_model", /^models\[1\]: "nobody" is not a model/],
      [{ model: "nobody", models: ["solo-f"] }, 400, "invalid_model", /^model: "nobody"/],
      [{ model: "svc-auto", models: ["nobody"] }, 400, "invalid_model", /^models\[0\]: "nobody"/],
      [{ models: ["whisper-large-v3-turbo"] }, 400, "invalid_model", /^models\[0\]: /],
      [{ model: "solo-f", models: ["a", "b", "c", "d"] }, 400, "invalid_request", /^models: /],
      [{ model: "solo-f", svc: { cost_quality: 0.2 } }, 400, "unsupported_parameter", /cost_quality/],
      [
        { provider: { only: ["openai", "nobody"] } },
        400,
        "invalid_request",
        /^provider\.only\[1\]: "nobody" is not a pr/
      ],
      [{ provider: { order: ["together/fp8"] } }, 400, "invalid_request", /^provider\.order\[0\]: /],
      [{ provider: { quantizations: ["fp8"] } }, 400, "unsupported_parameter", /^provider\.quantizations /],
      [{ model: "trio", provider: { only: ["xai"] } }, 400, "invalid_request", /^trio is left out by provider\.only$/],
      [
        { model: "trio", models: ["solo-f"], provider: { only: ["openai"], max_price: { prompt: 0.9 } } },
        400,
        "invalid_request",
        /^trio is left out by provider\.max_price and provider\.only; solo-f is left out by provider\.only$/
      ],
      [
        { provider: { max_price: { prompt: 0 } } },
        400,
        "invalid_request",
        /^No model can serve this request: each of them is left out by provider\.max_price$/
      ],
      [{ svc: { max_cost_usd: "0.000000001" } }, 400, "invalid_request", /is left out by max_cost_usd/],
      [{ model: "trio", svc: { max_cost_usd: 0 } }, 400, "invalid_request", /^trio is left out by max_cost_usd$/]
    ]
    for (const [body, status, code, message] of refusals)
      it.effect(`is refused: ${JSON.stringify(body)}`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const tenant = yield* gateway.tenant("1")
          const refusal = yield* refused(body, tenant)
          assert.deepStrictEqual(refusal.slice(0, 2), [status, code], refusal[2])
          assert.match(refusal[2], message)
          assert.strictEqual((yield* gateway.balance(tenant.organization)).available, usd("1"))
        })
      )
  },
  { CATALOG_FILE: overlay() }
)

describeGateway(
  "The choice of providers",
  (it) => {
    const served: ReadonlyArray<readonly [provider: object, endpoint: string, more?: object]> = [
      [{}, "openai/trio"],
      [{ order: ["anthropic"] }, "anthropic/trio"],
      [{ order: ["Mistral", "Groq", "openai"] }, "groq/trio"],
      [{ only: ["groq", "anthropic"] }, "anthropic/trio"],
      [{ only: ["groq", "anthropic"], order: ["GROQ"] }, "groq/trio"],
      [{ ignore: ["OpenAI"] }, "anthropic/trio"],
      [{ ignore: ["openai", "anthropic"] }, "groq/trio"],
      [{ sort: "price" }, "openai/trio"],
      // A long prompt and a short answer are cheapest where prompts are.
      [{ sort: "price" }, "groq/trio", { messages: [user("word ".repeat(2_000))], max_tokens: 20 }],
      [{ sort: "price", order: ["anthropic"] }, "anthropic/trio"],
      [{ max_price: { prompt: "0.999999" } }, "groq/trio"],
      [{ max_price: { prompt: 1, completion: 2 } }, "openai/trio"],
      [{ max_price: { completion: 4 }, ignore: ["openai"] }, "anthropic/trio"],
      [{ max_price: { request: 0, image: 0 } }, "openai/trio"],
      [{ data_collection: "deny" }, "openai/trio"],
      [{ order: ["anthropic"], require_parameters: true }, "openai/trio", { frequency_penalty: 1 }]
    ]
    for (const [provider, endpoint, more = {}] of served)
      it.effect(
        `${JSON.stringify(provider)} is served by ${endpoint}${"messages" in more ? ", cheaper here" : ""}`,
        () =>
          Effect.gen(function* () {
            const answer = yield* ask({ model: "trio", provider, ...more })
            assert.strictEqual(answer.endpoint, endpoint)
          })
      )

    it.effect("goes to the providers that are not named after those that are", () =>
      Effect.gen(function* () {
        const body = { model: "trio-ordered", provider: { order: ["groq"] }, messages: broken("Next?") }
        const { receipt } = yield* ask(body)
        assert.deepStrictEqual(endpointsOf(receipt), ["groq/trio-ordered", "openai/trio-ordered"])
        assert.deepStrictEqual(receipt.at("choices"), { provider: { order: ["groq"] } })
      })
    )

    for (const [model, provider, tried] of [
      ["trio-alone", { allow_fallbacks: false }, ["openai/trio-alone"]],
      ["trio-down", { allow_fallbacks: false, order: ["groq"] }, ["groq/trio-down"]]
    ] as const)
      it.effect(`tries no other provider with ${JSON.stringify(provider)}`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const reply = yield* gateway.chat({ model, provider, messages: [user("[fault:503] Alone?")] })
          assert.deepStrictEqual([reply.status, reply.at("error.code")], [500, "internal_error"])
          const receipt = yield* receiptOf(reply.headers.get("x-request-id"))
          assert.deepStrictEqual(endpointsOf(receipt), tried)
        })
      )

    it.effect("of a routed request leaves out the models of others, and says so in the receipt", () =>
      Effect.gen(function* () {
        const { receipt, reply } = yield* ask({ provider: { only: ["anthropic"] } })
        assert.isTrue(reply.at("svc.routed"))
        assert.match(String(receipt.at("endpoint")), /^anthropic\//)
        const candidates = receipt.at("routing.candidates") as ReadonlyArray<Json>
        assert.notInclude(
          candidates.map(({ model }) => model),
          "gpt-5-mini"
        )
        const excluded = receipt.at("routing.excluded") as ReadonlyArray<Json>
        assert.deepInclude(excluded, { model: "gpt-5-mini", because: "provider.only" })
      })
    )

    it.effect("of a routed request without fallbacks is one provider", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const messages = [user("[fault:503] Only you?")]
        const reply = yield* gateway.chat({ messages, provider: { allow_fallbacks: false, only: ["zai"] } })
        assert.strictEqual(reply.status, 500, reply.text)
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"))
        assert.lengthOf(endpointsOf(receipt), 1)
      })
    )

    it.effect(
      "by their data policies leaves out those that train, those that keep data and those that do not say",
      () =>
        Effect.gen(function* () {
          const denied = { provider: { data_collection: "deny" } }
          for (const model of ["deepseek-v4-pro", "odd"]) {
            const [status, code, message] = yield* refused({ model, ...denied })
            assert.deepStrictEqual([status, code], [400, "invalid_request"])
            assert.strictEqual(message, `${model} is left out by provider.data_collection`)
          }
          const [, , message] = yield* refused({ model: "gpt-5-mini", provider: { zdr: true } })
          assert.strictEqual(message, "gpt-5-mini is left out by provider.zdr")
          const { endpoint } = yield* ask({ model: "gpt-oss-120b", provider: { zdr: true } })
          assert.strictEqual(endpoint, "cerebras/gpt-oss-120b")
          const routed = yield* ask({ ...denied, provider: { zdr: true, data_collection: "deny" } })
          assert.match(String(routed.endpoint), /^(cerebras|fireworks)\//)
        })
    )

    it.effect("by speed takes the fastest that was measured, and the order of the catalog before that", () =>
      Effect.gen(function* () {
        for (const sort of ["latency", "throughput"]) {
          const { endpoint } = yield* ask({ model: "trio-fast", provider: { sort } })
          assert.strictEqual(endpoint, "openai/trio-fast")
        }
        // One answer measures an endpoint; those that nothing was measured of come after it.
        const gateway = yield* TestGateway
        const messages = [user("Say at least twenty words about the sea, the sky, the wind and the ships.")]
        const measured = { model: "trio-fast", provider: { only: ["groq"] }, stream: true, messages }
        chunksOf((yield* gateway.chat(measured)).text)
        const { endpoint } = yield* ask({ model: "trio-fast", provider: { sort: "latency" } })
        assert.strictEqual(endpoint, "groq/trio-fast")
      })
    )

    it.effect("is taken by the Responses API as well", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const body = { input: "Hello there.", models: ["trio"], provider: { order: ["anthropic"] } }
        const reply = yield* gateway.request("POST", "/v1/responses", body)
        assert.deepStrictEqual([reply.status, reply.at("model")], [200, "trio"], reply.text)
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"))
        assert.strictEqual(receipt.at("endpoint"), "anthropic/trio")
        assert.deepStrictEqual(receipt.at("choices"), { models: ["trio"], provider: { order: ["anthropic"] } })
        const refusal = yield* gateway.request("POST", "/v1/responses", { ...body, provider: { quantizations: ["x"] } })
        assert.deepStrictEqual([refusal.status, refusal.at("error.code")], [400, "unsupported_parameter"])
      })
    )

    it.effect("moves a session only when its model is left out", () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestGateway).tenant("1")
        const first = yield* ask({ session_id: "s", provider: { only: ["openai"] } }, tenant)
        const model = first.reply.at("model")
        const stays = yield* ask({ session_id: "s", svc: { cost_quality: 1 } }, tenant)
        assert.deepStrictEqual([stays.reply.at("model"), stays.receipt.at("routing.pinned")], [model, true])
        const moved = yield* ask({ session_id: "s", provider: { ignore: ["openai"] } }, tenant)
        assert.notStrictEqual(moved.reply.at("model"), model)
        assert.isFalse(moved.receipt.at("routing.pinned"))
        const follows = yield* ask({ session_id: "s" }, tenant)
        assert.strictEqual(follows.reply.at("model"), moved.reply.at("model"))
        // Models to fall back to leave a pinned session where it is.
        const pinned = yield* ask({ session_id: "s", model: "svc-auto", models: ["gpt-5-mini"] }, tenant)
        assert.deepStrictEqual(
          [pinned.reply.at("model"), pinned.receipt.at("routing.pinned")],
          [moved.reply.at("model"), true]
        )
      })
    )
  },
  { CATALOG_FILE: overlay() }
)
