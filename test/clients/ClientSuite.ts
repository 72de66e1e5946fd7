/**
 * What every published client must be able to do with the gateway. A `Client` describes how the users of a package call
 * it; the suite checks what they get back and what they are charged.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as z from "zod"

import type { NewKey } from "../../src/access/ApiKeyTable.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { awaited, priced, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { TestGateway, usd } from "../support/TestGateway.ts"
import type { Gateways } from "./EmbeddedGateway.ts"

/** A request with a single message. */
export interface ClientRequest {
  readonly baseUrl: string
  readonly key: string
  readonly model: string
  readonly prompt: string
  /** The limit of output tokens. */
  readonly maxTokens?: number
  readonly signal?: AbortSignal
}

/** The parts of an answer that the users of a client read. */
export interface ClientAnswer {
  readonly text: string
  readonly finishReason: string | null | undefined
  readonly promptTokens: number | undefined
  readonly completionTokens: number | undefined
  /** In USD. */
  readonly cost: unknown
}

/** The parts of an error that the users of a client read; not every client has all of them. */
export interface ClientError {
  readonly status: number | undefined
  readonly code: unknown
  readonly message: string
  readonly retryAfter?: string | null | undefined
}

/** The functions behind the tools, by name. */
export interface Tools {
  readonly get_weather: (input: { readonly city: string }) => string
  readonly get_time: () => string
}

export const weatherInput = z.object({ city: z.string() })
export const timeInput = z.object({})
export const report = z.object({ city: z.string(), degrees: z.int(), sky: z.enum(["clear", "grey"]) })

export interface Client {
  readonly name: string
  readonly complete: (request: ClientRequest) => Promise<ClientAnswer>
  /** Calls `onText` with each chunk of text, and gives the whole answer at the end. */
  readonly stream: (request: ClientRequest, onText: (text: string) => void) => Promise<ClientAnswer>
  /** Lets the client run the tools until there is an answer, and gives its text. */
  readonly runTools: (request: ClientRequest, tools: Tools, stream: boolean) => Promise<string>
  /** An answer in the schema of `report`. */
  readonly completeAsReport: (request: ClientRequest) => Promise<unknown>
  readonly errorOf: (error: unknown) => ClientError
  /** The client's own names of finish reasons, by those of the API. */
  readonly finishReasons?: { readonly [name: string]: string }
}

const models = ["gpt-4o-mini", "claude-sonnet-5"] as const

const requestWith = Effect.fnUntraced(function* (prompt: string, more: Partial<ClientRequest> = {}) {
  const { key, url } = yield* TestGateway
  return { baseUrl: `${url}/v1`, key, model: models[0], prompt, ...more } satisfies ClientRequest
})

const ignore = () => undefined

/** The error of a call. Fails the test when the call succeeds. */
const errorFrom = (client: Client, call: () => Promise<unknown>): Effect.Effect<ClientError> =>
  Effect.promise(() =>
    call().then(
      (answer) => assert.fail(`the call was answered: ${JSON.stringify(answer)}`),
      (error: unknown) => client.errorOf(error)
    )
  )

const answers = (client: Client, { sandbox }: Gateways) =>
  sandbox(`${client.name}, answered,`, (it) => {
    for (const model of models)
      it.effect(`reads text, finish reason, usage and cost of ${model}, plain and streamed`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const plain = yield* gateway.chat({ model, messages: [user("Hello")] })
          const request = yield* requestWith("Hello", { model })
          const plainAnswer = yield* Effect.promise(() => client.complete(request))
          const expected = {
            text: plain.at("choices.0.message.content"),
            finishReason: client.finishReasons?.["stop"] ?? "stop",
            promptTokens: plain.at("usage.prompt_tokens"),
            completionTokens: plain.at("usage.completion_tokens"),
            cost: plain.at("usage.cost")
          }
          assert.deepStrictEqual<unknown>(plainAnswer, expected)
          const chunks: Array<string> = []
          const streamed = yield* Effect.promise(() => client.stream(request, (text) => chunks.push(text)))
          assert.deepStrictEqual<unknown>(streamed, expected)
          assert.isAbove(chunks.length, 1)
          assert.strictEqual(chunks.join(""), streamed.text)
        })
      )

    it.effect("reads that the text was cut off or filtered", () =>
      Effect.gen(function* () {
        const names = client.finishReasons ?? {}
        const ends = { "[fault:refused] No.": "content_filter", "[fault:length 90] Go.": "length" }
        for (const [prompt, reason] of Object.entries(ends)) {
          const request = yield* requestWith(prompt, { maxTokens: 20 })
          const plainAnswer = yield* Effect.promise(() => client.complete(request))
          const streamed = yield* Effect.promise(() => client.stream(request, ignore))
          const expected = names[reason] ?? reason
          assert.deepStrictEqual([plainAnswer.finishReason, streamed.finishReason], [expected, expected])
        }
      })
    )

    for (const stream of [false, true])
      for (const model of models)
        it.effect(`runs the tools that ${model} calls in parallel (${stream ? "streamed" : "plain"})`, () =>
          Effect.gen(function* () {
            const calls: Array<unknown> = []
            const tools: Tools = {
              get_weather: ({ city }) => (calls.push(["get_weather", typeof city]), "drizzle"),
              get_time: () => (calls.push(["get_time"]), "noon")
            }
            const request = yield* requestWith("[call:get_weather,get_time] How is it outside?", { model })
            const text = yield* Effect.promise(() => client.runTools(request, tools, stream))
            assert.deepStrictEqual(calls, [["get_weather", "string"], ["get_time"]])
            assert.match(text, /^The tool answered: “.*noon.*”\.$/s)
          })
        )

    for (const model of models)
      it.effect(`gets an answer in its schema from ${model}`, () =>
        Effect.gen(function* () {
          const request = yield* requestWith("The weather in Oslo, please.", { model })
          const answer = yield* Effect.promise(() => client.completeAsReport(request))
          assert.isTrue(report.safeParse(answer).success, JSON.stringify(answer))
        })
      )
  })

const failures = (client: Client, { sandbox }: Gateways) =>
  sandbox(`${client.name}, refused,`, (it) => {
    const calls = { "": client.complete, " for a stream": (request: ClientRequest) => client.stream(request, ignore) }
    const cases: ReadonlyArray<{
      readonly status: number
      readonly code: string
      readonly message: RegExp
      readonly make: Effect.Effect<ClientRequest, never, TestGateway>
    }> = [
      { status: 401, code: "unauthorized", message: /API key/, make: requestWith("Hi", { key: "tg-nobody" }) },
      { status: 400, code: "invalid_request", message: /./, make: requestWith("[fault:400] Hi") },
      { status: 400, code: "invalid_model", message: /gpt-9/, make: requestWith("Hi", { model: "gpt-9" }) },
      { status: 402, code: "insufficient_credits", message: /credit|balance/i, make: asTenant("0") },
      { status: 403, code: "model_not_allowed", message: /./, make: asTenant("1", { models: [modelId("gpt-4.1")] }) },
      { status: 500, code: "internal_error", message: /tried/, make: requestWith("[fault:500] Hi") }
    ]
    for (const { code, make, message, status } of cases)
      for (const [kind, call] of Object.entries(calls))
        it.effect(`reads ${status} ${code}${kind}`, () =>
          Effect.gen(function* () {
            const request = yield* make
            const error = yield* errorFrom(client, () => call(request))
            assert.deepStrictEqual([error.status, error.code], [status, code], error.message)
            assert.match(error.message, message)
          })
        )

    for (const [kind, call] of Object.entries(calls))
      it.effect(`reads the retry-after of a 429${kind}`, () =>
        Effect.gen(function* () {
          const request = yield* asTenant("1", { requestsPerMinute: 1 })
          yield* Effect.promise(() => client.complete(request))
          const error = yield* errorFrom(client, () => call(request))
          assert.deepStrictEqual([error.status, error.code], [429, "rate_limit_exceeded"])
          assert.match(error.retryAfter ?? "", /^[1-9]\d*$/)
        })
      )

    it.effect("fails in the middle of a stream, after the text that came before", () =>
      Effect.gen(function* () {
        const request = yield* requestWith("[fault:length 30] [fault:cut after=5] Go.")
        const chunks: Array<string> = []
        const error = yield* errorFrom(client, () => client.stream(request, (text) => chunks.push(text)))
        assert.strictEqual(error.code, "internal_error")
        assert.notStrictEqual(error.message, "")
        assert.strictEqual(chunks.join(""), "word1 word2 word3 word4 word5")
      })
    )
  })

const asTenant = Effect.fnUntraced(function* (credit: string, key: Partial<NewKey> = {}) {
  const { key: secret } = yield* (yield* TestGateway).tenant(credit, key)
  return yield* requestWith("Hi", { key: secret })
})

const role = Fake.openaiChunk({ role: "assistant", content: "" })
const words = Array.from({ length: 400 }, (_, index) => Fake.openaiChunk({ content: `word${index} ` }))

/** Waits until the call of the provider has been cancelled. */
const cancelled = Effect.gen(function* () {
  const provider = yield* FakeProvider
  const { aborted } = yield* awaited(provider.arrival(), "the call of the provider")
  yield* awaited(aborted, "the end of the provider's connection")
})

const cancellations = (client: Client, { fakeProvider }: Gateways) =>
  fakeProvider(`${client.name}, cancelled,`, (it) => {
    it.effect("in the middle of a stream cancels the call of the provider and pays for what was delivered", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        provider.script(Fake.streams([role, ...words], { everyMillis: 5, ending: "open" }))
        const controller = new AbortController()
        const request = yield* requestWith("Go.", { key: tenant.key, signal: controller.signal })
        let seen = 0
        const onText = () => void (++seen === 20 && controller.abort())
        yield* Effect.promise(() => client.stream(request, onText).then(ignore, ignore))
        yield* cancelled
        const charged = usd("1") - (yield* settledBalance(tenant.organization))
        assert.isTrue(charged >= (yield* priced(request.model, { output: 20 })), `charged ${charged}`)
        assert.isTrue(charged < (yield* priced(request.model, { input: 100, output: 300 })), `charged ${charged}`)
        assert.isBelow(seen, 300)
      })
    )

    it.effect("before the answer pays nothing", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        provider.script(Fake.hangs)
        const controller = new AbortController()
        const request = yield* requestWith("Go.", { key: tenant.key, signal: controller.signal })
        const answer = client.complete(request).then(() => assert.fail("the call was answered"), ignore)
        yield* awaited(provider.arrival(), "the call of the provider")
        controller.abort()
        yield* Effect.promise(() => answer)
        yield* cancelled
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
        assert.lengthOf(provider.received, 1)
      })
    )
  })

/** Registers the tests that every client must pass. */
export const describeClient = (client: Client, gateways: Gateways): void => {
  answers(client, gateways)
  failures(client, gateways)
  cancellations(client, gateways)
}
