/** Providers that report no usage, or zero, for what they wrote: the gateway counts for itself, and nothing is free. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { type ChatProtocolName, chatProtocolNames } from "../../src/catalog/Model.ts"
import { as, at, chunksOf, costOf, type Json, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { audioPart, silence } from "../support/Multipart.ts"
import { modelsOf } from "../support/ProtocolModels.ts"
import { describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"
import { fieldParts, transcribe } from "../support/TranscriptionForms.ts"

/** A usage object in the words of each protocol. */
const usageIn: { readonly [Name in ChatProtocolName]: (prompt: number, output: number) => Json } = {
  "openai-chat": (prompt_tokens, completion_tokens) => ({ prompt_tokens, completion_tokens }),
  // The fake provider translates it.
  "openai-responses": (prompt_tokens, completion_tokens) => ({ prompt_tokens, completion_tokens }),
  "anthropic-messages": (input_tokens, output_tokens) => ({ input_tokens, output_tokens }),
  gemini: (promptTokenCount, candidatesTokenCount) => ({ promptTokenCount, candidatesTokenCount }),
  "bedrock-converse": (inputTokens, outputTokens) => ({ inputTokens, outputTokens })
}

/** A model of each protocol at the providers that are switched on here. */
const modelOf = (protocol: ChatProtocolName): string =>
  modelsOf(protocol, ({ endpoints: [{ provider }] }) => on.has(provider))[0]?.id ?? assert.fail(protocol)
const on: ReadonlySet<string> = new Set(["openai", "anthropic", "google", "bedrock"])

const words = "The quick brown fox jumps over the lazy dog."
const messages = [user("Hello there, how are you today?")]

/** The prompt and output tokens of each report; `undefined` stands for an empty usage object. */
const reports: Record<string, readonly [prompt: number, output: number] | undefined> = {
  "no usage": undefined,
  "zero for everything": [0, 0],
  "an empty prompt": [0, 5],
  "no output": [20, 0]
}

describeWithFakeProvider(
  "A provider that reports too little",
  (it) => {
    for (const protocol of chatProtocolNames)
      for (const [what, counts] of Object.entries(reports))
        it.effect(`is counted here: ${what}, by ${protocol}`, () =>
          Effect.gen(function* () {
            const gateway = yield* TestGateway
            const provider = yield* FakeProvider
            const tenant = yield* gateway.tenant("1")
            const model = modelOf(protocol)
            let spent = 0n
            for (const stream of [false, true]) {
              const usage = counts === undefined ? {} : usageIn[protocol](...counts)
              provider.script(Fake.answers(words, { usage }))
              const reply = yield* gateway.chat({ model, messages, stream }, as(tenant))
              assert.strictEqual(reply.status, 200, reply.text)
              const last = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
              const [charged, written] = [at(last, "usage", "prompt_tokens"), at(last, "usage", "completion_tokens")]
              assert.isTrue(Number(charged) >= 8 && Number(written) >= 1, JSON.stringify(at(last, "usage")))
              const cost = costOf(last)
              assert.isTrue(cost > 0n)
              spent += cost
              const receipt = yield* receiptOf(at(last, "id"), tenant)
              assert.deepStrictEqual(
                [receipt.at("tokens.estimated"), receipt.at("tokens.output"), usd(String(receipt.at("cost_usd")))],
                [true, written, cost]
              )
            }
            assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - spent)
          })
        )

    it.effect("wrote nothing: such an answer stays free", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        for (const model of ["gpt-4.1", "gpt-5-mini"])
          for (const stream of [false, true]) {
            provider.script(Fake.answers("", { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }))
            const reply = yield* gateway.chat({ model, messages, stream }, as(tenant))
            assert.strictEqual(costOf(stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)), 0n, reply.text)
          }
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      })
    )

    it.effect("transcribed words, which are counted here as well", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        let spent = 0n
        for (const usage of [undefined, { input_tokens: 0, output_tokens: 0 }, { input_tokens: 0, output_tokens: 9 }]) {
          provider.script(Fake.reply(200, { text: words, ...(usage && { usage }) }))
          const parts = [audioPart({ content: silence(2_000) }), ...fieldParts({ model: "gpt-4o-transcribe" })]
          const reply = yield* transcribe(parts, as(tenant))
          assert.strictEqual(reply.status, 200, reply.text)
          // A token per 100 ms.
          assert.strictEqual(reply.at("usage.input_tokens"), 20)
          assert.isAtLeast(Number(reply.at("usage.output_tokens")), 9)
          const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
          assert.isTrue(receipt.at("tokens.estimated"))
          spent += costOf(JSON.parse(reply.text))
        }
        assert.isTrue(spent > 0n)
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - spent)
      })
    )
  },
  ({ url }) => ({
    GEMINI_API_KEY: "gemini-of-the-operator",
    GEMINI_BASE_URL: `${url}/v1beta`,
    AWS_BEARER_TOKEN_BEDROCK: "bedrock-of-the-operator",
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url
  })
)
