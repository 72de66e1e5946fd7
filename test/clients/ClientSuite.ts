/**
 * What every published client must be able to do with the gateway. A client is described by how its users call it; the
 * suite looks at what they get back and at what it cost them.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as z from "zod"

import type { NewKey } from "../../src/access/ApiKeys.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { awaited, priced, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { TestGateway, usd } from "../support/TestGateway.ts"
import type { Gateways } from "./EmbeddedGateway.ts"

/** One question to the gateway. */
export interface Ask {
  readonly baseUrl: string
  readonly key: string
  readonly model: string
  readonly prompt: string
  /** The most tokens the answer may have. */
  readonly maxTokens?: number
  readonly signal?: AbortSignal
}

/** What the user of a client reads of an answer. */
export interface Said {
  readonly text: string
  readonly finish: string | null | undefined
  readonly promptTokens: number | undefined
  readonly completionTokens: number | undefined
  /** USD. */
  readonly cost: unknown
}

/** What the user of a client reads of a failure; a client may not tell all of it. */
export interface Raised {
  readonly status: number | undefined
  readonly code: unknown
  readonly message: string
  readonly retryAfter?: string | null | undefined
}

/** Tools by name, as the suite runs them. */
export interface Tools {
  readonly get_weather: (input: { readonly city: string }) => string
  readonly get_time: () => string
}

export const weatherInput = z.object({ city: z.string() })
export const timeInput = z.object({})
export const report = z.object({ city: z.string(), degrees: z.int(), sky: z.enum(["clear", "grey"]) })

export interface Client {
  readonly name: string
  readonly ask: (ask: Ask) => Promise<Said>
  /** Tells each piece of text as it comes, and the whole at the end. */
  readonly stream: (ask: Ask, onText: (text: string) => void) => Promise<Said>
  /** Has the client run the tools until there is an answer. */
  readonly runTools: (ask: Ask, tools: Tools, stream: boolean) => Promise<string>
  readonly askForReport: (ask: Ask) => Promise<unknown>
  readonly read: (error: unknown) => Raised
  /** The client's own words for our finish reasons, where it has some. */
  readonly finishes?: { readonly [ours: string]: string }
}

const models = ["gpt-4o-mini", "claude-sonnet-5"] as const

const asking = Effect.fnUntraced(function* (prompt: string, more: Partial<Ask> = {}) {
  const { key, url } = yield* TestGateway
  return { baseUrl: `${url}/v1`, key, model: models[0], prompt, ...more } satisfies Ask
})

const ignore = () => undefined

/** What a call fails with. */
const raisedBy = (client: Client, call: () => Promise<unknown>): Effect.Effect<Raised> =>
  Effect.promise(() =>
    call().then(
      (answer) => assert.fail(`the call was answered: ${JSON.stringify(answer)}`),
      (error: unknown) => client.read(error)
    )
  )

const answers = (client: Client, { sandbox }: Gateways) =>
  sandbox(`${client.name}, asking`, (it) => {
    for (const model of models)
      it.effect(`reads the text, the end, the usage and the cost of ${model}, whole and streamed`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const plain = yield* gateway.chat({ model, messages: [user("Hello")] })
          const ask = yield* asking("Hello", { model })
          const whole = yield* Effect.promise(() => client.ask(ask))
          const expected = {
            text: plain.at("choices.0.message.content"),
            finish: "stop",
            promptTokens: plain.at("usage.prompt_tokens"),
            completionTokens: plain.at("usage.completion_tokens"),
            cost: plain.at("usage.cost")
          }
          assert.deepStrictEqual<unknown>(whole, expected)
          const pieces: Array<string> = []
          const streamed = yield* Effect.promise(() => client.stream(ask, (text) => pieces.push(text)))
          assert.deepStrictEqual<unknown>(streamed, expected)
          assert.isAbove(pieces.length, 1)
          assert.strictEqual(pieces.join(""), streamed.text)
        })
      )

    it.effect("sees that the text was cut short or filtered", () =>
      Effect.gen(function* () {
        const finishes = client.finishes ?? {}
        const ends = { "[fault:refused] No.": "content_filter", "[fault:length 90] Go.": "length" }
        for (const [prompt, ours] of Object.entries(ends)) {
          const ask = yield* asking(prompt, { maxTokens: 20 })
          const whole = yield* Effect.promise(() => client.ask(ask))
          const streamed = yield* Effect.promise(() => client.stream(ask, ignore))
          const expected = finishes[ours] ?? ours
          assert.deepStrictEqual([whole.finish, streamed.finish], [expected, expected])
        }
      })
    )

    for (const stream of [false, true])
      for (const model of models)
        it.effect(`runs the tools that ${model} calls at once (${stream ? "streamed" : "plain"})`, () =>
          Effect.gen(function* () {
            const calls: Array<unknown> = []
            const tools: Tools = {
              get_weather: ({ city }) => (calls.push(["get_weather", typeof city]), "drizzle"),
              get_time: () => (calls.push(["get_time"]), "noon")
            }
            const ask = yield* asking("[call:get_weather,get_time] How is it outside?", { model })
            const text = yield* Effect.promise(() => client.runTools(ask, tools, stream))
            assert.deepStrictEqual(calls, [["get_weather", "string"], ["get_time"]])
            assert.match(text, /^The tool answered: “.*noon.*”\.$/s)
          })
        )

    for (const model of models)
      it.effect(`gets an object of its schema from ${model}`, () =>
        Effect.gen(function* () {
          const ask = yield* asking("The weather in Oslo, please.", { model })
          const answer = yield* Effect.promise(() => client.askForReport(ask))
          assert.isTrue(report.safeParse(answer).success, JSON.stringify(answer))
        })
      )
  })

const failures = (client: Client, { sandbox }: Gateways) =>
  sandbox(`${client.name}, refused`, (it) => {
    const ways = { "": client.ask, " a stream": (ask: Ask) => client.stream(ask, ignore) }
    const cases: ReadonlyArray<{
      readonly status: number
      readonly code: string
      readonly message: RegExp
      readonly ask: Effect.Effect<Ask, never, TestGateway>
    }> = [
      { status: 401, code: "unauthorized", message: /API key/, ask: asking("Hi", { key: "tg-nobody" }) },
      { status: 400, code: "invalid_request", message: /./, ask: asking("[fault:400] Hi") },
      { status: 400, code: "invalid_model", message: /gpt-9/, ask: asking("Hi", { model: "gpt-9" }) },
      { status: 402, code: "insufficient_credits", message: /credit|balance/i, ask: asTenant("0") },
      { status: 403, code: "model_not_allowed", message: /./, ask: asTenant("1", { models: [modelId("gpt-4.1")] }) },
      { status: 500, code: "internal_error", message: /tried/, ask: asking("[fault:500] Hi") }
    ]
    for (const { ask, code, message, status } of cases)
      for (const [way, call] of Object.entries(ways))
        it.effect(`reads ${status} ${code}${way}`, () =>
          Effect.gen(function* () {
            const asked = yield* ask
            const raised = yield* raisedBy(client, () => call(asked))
            assert.deepStrictEqual([raised.status, raised.code], [status, code], raised.message)
            assert.match(raised.message, message)
          })
        )

    for (const [way, call] of Object.entries(ways))
      it.effect(`reads when to come back after 429${way}`, () =>
        Effect.gen(function* () {
          const ask = yield* asTenant("1", { requestsPerMinute: 1 })
          yield* Effect.promise(() => client.ask(ask))
          const raised = yield* raisedBy(client, () => call(ask))
          assert.deepStrictEqual([raised.status, raised.code], [429, "rate_limit_exceeded"])
          assert.match(raised.retryAfter ?? "", /^[1-9]\d*$/)
        })
      )

    it.effect("raises in the middle of a stream, after the text that came before", () =>
      Effect.gen(function* () {
        const ask = yield* asking("[fault:length 30] [fault:cut after=5] Go.")
        const pieces: Array<string> = []
        const raised = yield* raisedBy(client, () => client.stream(ask, (text) => pieces.push(text)))
        assert.strictEqual(raised.code, "internal_error")
        assert.notStrictEqual(raised.message, "")
        assert.strictEqual(pieces.join(""), "word1 word2 word3 word4 word5")
      })
    )
  })

const asTenant = Effect.fnUntraced(function* (credit: string, key: Partial<NewKey> = {}) {
  const { key: secret } = yield* (yield* TestGateway).tenant(credit, key)
  return yield* asking("Hi", { key: secret })
})

const role = Fake.openaiChunk({ role: "assistant", content: "" })
const words = Array.from({ length: 400 }, (_, index) => Fake.openaiChunk({ content: `word${index} ` }))

/** Waits until the provider has been hung up on. */
const hungUp = Effect.gen(function* () {
  const provider = yield* FakeProvider
  const { aborted } = yield* awaited(provider.arrival(), "the call of the provider")
  yield* awaited(aborted, "the end of the provider's connection")
})

const departures = (client: Client, { fakeProvider }: Gateways) =>
  fakeProvider(`${client.name}, leaving`, (it) => {
    it.effect("in the middle of a stream stops the provider and pays for what was delivered", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        provider.script(Fake.streams([role, ...words], { everyMillis: 5, ending: "open" }))
        const left = new AbortController()
        const ask = yield* asking("Go.", { key: tenant.key, signal: left.signal })
        let seen = 0
        const onText = () => void (++seen === 20 && left.abort())
        yield* Effect.promise(() => client.stream(ask, onText).then(ignore, ignore))
        yield* hungUp
        const charged = usd("1") - (yield* settledBalance(tenant.organization))
        assert.isTrue(charged >= (yield* priced(ask.model, { output: 20 })), `charged ${charged}`)
        assert.isTrue(charged < (yield* priced(ask.model, { input: 100, output: 300 })), `charged ${charged}`)
        assert.isBelow(seen, 300)
      })
    )

    it.effect("before the answer pays nothing", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        provider.script(Fake.hangs)
        const left = new AbortController()
        const ask = yield* asking("Go.", { key: tenant.key, signal: left.signal })
        const answer = client.ask(ask).then(() => assert.fail("the call was answered"), ignore)
        yield* awaited(provider.arrival(), "the call of the provider")
        left.abort()
        yield* Effect.promise(() => answer)
        yield* hungUp
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
        assert.lengthOf(provider.received, 1)
      })
    )
  })

/** Registers all that holds for every client. */
export const describeClient = (client: Client, gateways: Gateways): void => {
  answers(client, gateways)
  failures(client, gateways)
  departures(client, gateways)
}
