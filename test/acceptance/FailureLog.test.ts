import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, awaited, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { lineOf, linesOf, type LogLine } from "../support/LogLines.ts"
import { describeWithFakeProvider, type Reply, TestGateway } from "../support/TestGateway.ts"

/** Stands in every prompt, and must never be logged, not even when a provider quotes it. */
const prompt = "My password is swordfish-4711, and Ms Zephyrine Quill lives in Larkspur Lane"
const canaries = ["swordfish", "4711", "Zephyrine", "Quill", "Larkspur", "password"]
const keys = ["sk-openai-of-the-operator", "sk-anthropic-of-the-operator", "x-canary-header-value"]

/** An error that quotes the request and the key, as some providers' do. */
const quoting =
  (status: number, message: string, type = "server_error"): Fake.Behaviour =>
  (response, received) => {
    const key = String(received.headers.authorization ?? received.headers["x-api-key"])
    Fake.error(status, { message: `${message}: '${prompt}' ${prompt.slice(5, 30)}… (${key})`, type })(
      response,
      received
    )
  }

const overloaded = quoting(503, "The server had an error while processing")
const ask = (model: string | undefined, more: object = {}) =>
  Effect.gen(function* () {
    const gateway = yield* TestGateway
    const tenant = yield* gateway.tenant("1")
    const body = { ...(model !== undefined && { model }), messages: [user(prompt)], ...more }
    const reply = yield* gateway.chat(body, { ...as(tenant), "x-canary": "x-canary-header-value" })
    return { reply, tenant, request: reply.headers.get("x-request-id") }
  })

const script = (...behaviours: ReadonlyArray<Fake.Behaviour>) =>
  Effect.map(FakeProvider, (provider) => provider.script(...behaviours))

const errorsOf = (request: string | null, lines: ReadonlyArray<LogLine>) =>
  lines.filter(({ annotations, level }) => level === "ERROR" && annotations["request"] === request)

/** Each case has an endpoint of its own, because the breaker of one that fails opens. */
describeWithFakeProvider("The log of failures", (it) => {
  it.effect("has a warning for every target that failed and was followed by another", () =>
    Effect.gen(function* () {
      yield* script(overloaded, overloaded, Fake.answers("Hello to you"))
      const { reply, request, tenant } = yield* ask(undefined, { reasoning_effort: "none" })
      assert.strictEqual(reply.status, 200, reply.text)
      const line = yield* lineOf("A provider failed, the next one is tried", request)
      assert.strictEqual(line.level, "WARN")
      const { cause, endpoint, latencyMillis, model, provider, ...rest } = line.annotations
      assert.deepStrictEqual(rest, {
        request,
        organization: tenant.organization,
        class: "overloaded",
        status: 503,
        tries: 2
      })
      assert.match(String(cause), /^The server had an error while processing: '…/)
      assert.isNumber(latencyMillis)
      for (const name of [endpoint, model, provider]) assert.isString(name)
      assert.lengthOf(errorsOf(request, yield* linesOf("No provider answered")), 0)
    })
  )

  it.effect("has one error when no target answered, and none for what the client did wrong", () =>
    Effect.gen(function* () {
      yield* script(overloaded)
      const failed = yield* ask("gpt-4.1-mini")
      assert.strictEqual(failed.reply.status, 500)
      const line = yield* lineOf("No provider answered", failed.request)
      assert.strictEqual(line.level, "ERROR")
      assert.deepInclude(line.annotations, { class: "overloaded", status: 503, attempts: 2 })
      yield* script(quoting(400, "Invalid value for 'messages'", "invalid_request_error"))
      const wrong = yield* ask("gpt-4.1")
      assert.strictEqual(wrong.reply.status, 400, wrong.reply.text)
      yield* lineOf("Request", wrong.request)
      const gateway = yield* TestGateway
      const levels = (yield* gateway.logs).filter((text) => text.includes(String(wrong.request)))
      assert.lengthOf(levels, 1)
    })
  )

  it.effect("has an error for an account that is refused, and a warning for the breaker that opens", () =>
    Effect.gen(function* () {
      yield* script(quoting(401, "Incorrect API key provided", "authentication_error"))
      const { reply, request } = yield* ask("gpt-4.1-nano")
      assert.strictEqual(reply.status, 500)
      const refused = yield* lineOf("A provider refused our account", request)
      assert.strictEqual(refused.level, "ERROR")
      assert.deepInclude(refused.annotations, {
        provider: "openai",
        endpoint: "openai/gpt-4.1-nano",
        class: "Credentials",
        status: 401
      })
      assert.match(String(refused.annotations["cause"]), /^Incorrect API key provided/)
      const opened = yield* lineOf("A circuit breaker opened", request)
      assert.deepInclude(opened.annotations, { endpoint: "openai/gpt-4.1-nano", openMillis: 300_000 })
    })
  )

  it.effect("has an error for a stream that breaks after its first output", () =>
    Effect.gen(function* () {
      const cut = Promise.withResolvers<void>()
      yield* script((answer) => {
        answer.writeHead(200, { "content-type": "text/event-stream" }).write(Fake.openaiChunk({ content: "Hello" }))
        const error = { message: `Overloaded while reading ${prompt}`, type: "server_error" }
        void cut.promise.then(() => answer.end(Fake.dataEvent({ error })))
      })
      const gateway = yield* TestGateway
      const response = yield* Effect.promise(() =>
        fetch(`${gateway.url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${gateway.key}` },
          body: JSON.stringify({ model: "gpt-4o", stream: true, messages: [user(prompt)] })
        })
      )
      cut.resolve()
      yield* awaited(response.text(), "the end of the stream")
      const line = yield* lineOf("The stream of a provider broke", response.headers.get("x-request-id"))
      assert.strictEqual(line.level, "ERROR")
      assert.deepInclude(line.annotations, { provider: "openai", endpoint: "openai/gpt-4o", model: "gpt-4o" })
      assert.match(String(line.annotations["cause"]), /^Overloaded while reading …/)
    })
  )

  it.effect("never has a prompt, a key or a header, whatever fails", () =>
    Effect.gen(function* () {
      const faults: ReadonlyArray<Fake.Behaviour> = [
        quoting(429, "Rate limit reached"),
        quoting(404, "The model does not exist", "invalid_request_error"),
        quoting(413, "Request too large"),
        Fake.reply(200, prompt),
        Fake.reply(200, { error: { message: prompt, type: "server_error" } }),
        Fake.streams([Fake.dataEvent({ error: { message: prompt } })]),
        Fake.resets
      ]
      for (const fault of faults) {
        yield* script(fault)
        const asked = [ask("o4-mini", { stream: true }), ask("claude-haiku-4-5", { temperature: 0.5 })]
        yield* Effect.all(asked, { concurrency: "unbounded" })
      }
      const gateway = yield* TestGateway
      const lines = yield* gateway.logs
      assert.isAbove(lines.length, 20)
      for (const line of lines)
        for (const hidden of [...canaries, ...keys, gateway.key]) assert.notInclude(line, hidden)
    })
  )
})

describeWithFakeProvider(
  "The log of a provider that cannot be reached",
  (it) => {
    it.effect("has a warning that names it and the error of the connection", () =>
      Effect.gen(function* () {
        const { reply, request }: { reply: Reply; request: string | null } = yield* ask("gpt-4o-mini")
        assert.strictEqual(reply.status, 500)
        const line = yield* lineOf("A provider cannot be reached", request)
        assert.strictEqual(line.level, "WARN")
        assert.deepInclude(line.annotations, { provider: "openai", class: "network" })
        assert.include(String(line.annotations["cause"]), "ECONNREFUSED")
      })
    )
  },
  { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }
)
