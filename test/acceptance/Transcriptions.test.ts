/** `POST /v1/audio/transcriptions` as its clients see it: fields, models, labels, formats and cost, row by row. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { toFile } from "openai"

import { as, at, chunksOf, costOf, type Json, receiptOf, refusal, settledBalance } from "../support/Chat.ts"
import { audioPart, field, multipart, silence } from "../support/Multipart.ts"
import { describeGateway, type Reply, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"
import { type Fields, transcribe, transcribeWith, transcriptionPath } from "../support/TranscriptionForms.ts"

const credit = usd("1")
const transcript = "The toll is two dollars."
const prompt = `[say:${transcript}]`

const parsed = (reply: Reply): Json => JSON.parse(reply.text)

const receiptFor = (reply: Reply, tenant?: Tenant) => receiptOf(reply.headers.get("x-request-id"), tenant)

const assertError = (reply: Reply, status: number, code: string, message = /./) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  assert.match(String(reply.at("error.message")), message)
}

describeGateway("A transcription", (it) => {
  it.effect("is answered as JSON: the text, the seconds, the tokens and the settled cost", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const reply = yield* transcribeWith({ prompt }, as(tenant))
      assert.strictEqual(reply.status, 200, reply.text)
      assert.match(String(reply.headers.get("content-type")), /^application\/json/)
      const { text, usage, ...others } = parsed(reply)
      assert.deepStrictEqual([text, others], [transcript, {}])
      const input = Number(at(usage, "input_tokens"))
      const audio = Number(at(usage, "input_token_details", "audio_tokens"))
      const output = Number(at(usage, "output_tokens"))
      assert.deepStrictEqual(usage, {
        type: "tokens",
        seconds: 0.5,
        input_tokens: input,
        input_token_details: { audio_tokens: audio, text_tokens: input - audio },
        output_tokens: output,
        total_tokens: input + output,
        cost: at(usage, "cost")
      })
      assert.isTrue(audio > 0 && input > audio && output > 0)
      const cost = costOf(parsed(reply))
      assert.isTrue(cost > 0n)
      assert.strictEqual(yield* settledBalance(tenant.organization), credit - cost)
      const receipt = yield* receiptFor(reply, tenant)
      assert.strictEqual(receipt.at("outcome"), "completed")
      assert.strictEqual(usd(String(receipt.at("cost_usd"))), cost)
      assert.isTrue(usd(String(receipt.at("held_usd"))) > 0n)
    })
  )

  it.effect("is answered as text with the transcript alone, at the same cost", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const words = "Größe: 7 €"
      const spoken = { prompt: `[say:${words}]` }
      const reply = yield* transcribeWith({ ...spoken, response_format: "text" }, as(tenant))
      assert.deepStrictEqual([reply.status, reply.text], [200, words])
      assert.strictEqual(reply.headers.get("content-type"), "text/plain; charset=utf-8")
      const charged = credit - (yield* settledBalance(tenant.organization))
      assert.strictEqual(usd(String((yield* receiptFor(reply, tenant)).at("cost_usd"))), charged)
      const json = yield* transcribeWith({ ...spoken, response_format: "json" }, as(tenant))
      assert.strictEqual(costOf(parsed(json)), charged)
    })
  )

  it.effect("goes to the default model unless another one is named", () =>
    Effect.gen(function* () {
      for (const model of [undefined, "svc-auto", "whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]) {
        const reply = yield* transcribeWith({ prompt, ...(model !== undefined && { model }) })
        const receipt = yield* receiptFor(reply)
        assert.strictEqual(receipt.at("model"), "gpt-4o-transcribe", String(model))
        assert.strictEqual(receipt.at("requested_model"), model ?? null)
      }
      for (const model of ["gpt-transcribe", "gemini-2.5-flash"]) {
        const reply = yield* transcribeWith({ prompt, model })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual(reply.at("text"), transcript)
        assert.strictEqual((yield* receiptFor(reply)).at("model"), model)
      }
      assertError(yield* transcribeWith({ model: "nobody-1" }), 400, "invalid_model", /nobody-1/)
      assertError(yield* transcribeWith({ model: "" }), 400, "invalid_model")
      assertError(yield* transcribeWith({ model: "gpt-4o" }), 400, "invalid_model", /audio/)
    })
  )

  it.effect("has its labels in the receipt, by the contract's precedence, and nothing else is stored", () =>
    Effect.gen(function* () {
      const json = JSON.stringify
      const cases: ReadonlyArray<readonly [fields: Fields, callName: string | null, endUserId: string | null]> = [
        [{}, null, null],
        [{ call_name: "top" }, "top", null],
        [{ metadata: json({ call_name: "m", end_user_id: "u", kept: "no-such-word" }), call_name: "top" }, "m", "u"],
        [{ svc: json({ call_name: "s" }), metadata: json({ call_name: "m", end_user_id: "u" }) }, "s", "u"],
        [{ svc: json({ memory: {}, eval: [1], policy: "x", end_user_id: "v" }), call_name: "top" }, "top", "v"]
      ]
      for (const [fields, callName, endUserId] of cases) {
        const receipt = yield* receiptFor(yield* transcribeWith(fields))
        assert.deepStrictEqual([receipt.at("call_name"), receipt.at("end_user_id")], [callName, endUserId])
        assert.notInclude(receipt.text, "no-such-word")
      }
    })
  )

  it.effect("works through the SDK, with everything the SDK can send", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const file = yield* Effect.promise(() => toFile(silence(), "speech.wav"))
      const whole = yield* Effect.promise(() =>
        openai.audio.transcriptions.create({
          file,
          model: "whisper-1",
          prompt,
          language: "en",
          temperature: 0.2,
          response_format: "json",
          timestamp_granularities: ["word", "segment"],
          include: ["logprobs"],
          chunking_strategy: "auto"
        })
      )
      assert.strictEqual(whole.text, transcript)
      const { usage } = whole
      if (usage?.type !== "tokens") return assert.fail("usage by the token")
      assert.strictEqual(usage.total_tokens, usage.input_tokens + usage.output_tokens)
      const text = yield* Effect.promise(() =>
        openai.audio.transcriptions.create({ file, model: "gpt-4o-transcribe", prompt, response_format: "text" })
      )
      assert.strictEqual<unknown>(text, transcript)
      const error = yield* refusal(() =>
        openai.audio.transcriptions.create({ file, model: "whisper-1", response_format: "srt" })
      )
      assert.deepStrictEqual([error.status, error.code], [400, "unsupported_response_format"])
    })
  )

  it.effect("is streamed in OpenAI's events, the last of which has the whole text and the usage", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const whole = yield* transcribeWith({ prompt })
      for (const response_format of ["json", "text"]) {
        const reply = yield* transcribeWith({ prompt, stream: "true", response_format })
        assert.match(String(reply.headers.get("content-type")), /^text\/event-stream/)
        assert.deepStrictEqual(chunksOf(reply.text), [
          { type: "transcript.text.delta", delta: transcript },
          { type: "transcript.text.done", text: transcript, usage: parsed(whole)["usage"] }
        ])
      }
      const file = yield* Effect.promise(() => toFile(silence(), "speech.wav"))
      const types = yield* Effect.promise(async () => {
        const seen: Array<string> = []
        const stream = await openai.audio.transcriptions.create({ file, model: "gpt-4o-transcribe", stream: true })
        for await (const { type } of stream) seen.push(type)
        return seen
      })
      assert.deepStrictEqual(types, ["transcript.text.delta", "transcript.text.done"])
      const refused = yield* transcribeWith({ stream: "yes" })
      assertError(refused, 400, "invalid_request", /^stream must be true or false/)
    })
  )

  it.effect("fails over, and costs nothing when no provider answers", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const reply = yield* transcribeWith({ prompt: `[fault:500 first] ${prompt}` }, as(tenant))
      assert.deepStrictEqual([reply.status, reply.at("text")], [200, transcript], reply.text)
      const spent = costOf(parsed(reply))
      const failed = yield* transcribeWith({ prompt: "[fault:500]", model: "gemini-2.5-flash" }, as(tenant))
      assertError(failed, 500, "internal_error", /Nothing was charged/)
      assert.strictEqual(yield* settledBalance(tenant.organization), credit - spent)
    })
  )
})

describeGateway("A transcription with an Idempotency-Key", (it) => {
  const keyed = (tenant: Tenant) => ({ ...as(tenant), "idempotency-key": randomUUID() })

  it.effect("that is repeated is charged once, although every repeat has its own boundary and order of parts", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const format of ["json", "text"]) {
        const tenant = yield* gateway.tenant("1")
        const headers = keyed(tenant)
        const parts = [audioPart(), field("prompt", prompt), field("response_format", format)]
        const replies: Array<Reply> = []
        for (const [boundary, form] of [
          ["one", parts],
          ["two", parts],
          ["three", [...parts.toReversed(), field("unknown", "x"), field("temperature", "0.0")]]
        ] as const) {
          const { body, contentType } = multipart(form, boundary)
          const sent = { ...headers, "content-type": contentType }
          replies.push(yield* gateway.request("POST", transcriptionPath, body, sent))
        }
        const [first] = replies
        assert.strictEqual(first?.status, 200, first?.text)
        assert.deepStrictEqual(
          replies.map((reply) => [reply.text, reply.headers.get("content-type")]),
          replies.map(() => [first?.text, first?.headers.get("content-type")])
        )
        assert.deepStrictEqual(
          replies.map((reply) => reply.headers.get("idempotent-replayed")),
          [null, "true", "true"]
        )
        const cost = (yield* receiptOf(first?.headers.get("x-request-id"), tenant)).at("cost_usd")
        assert.strictEqual(yield* settledBalance(tenant.organization), credit - usd(String(cost)))
      }
    })
  )

  it.effect("conflicts when anything in it differs", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const headers = keyed(tenant)
      assert.strictEqual((yield* transcribeWith({ prompt }, headers)).status, 200)
      const spent = yield* settledBalance(tenant.organization)
      const others = [
        { prompt: `${prompt} ` },
        { prompt, language: "en" },
        { prompt, temperature: "0.5" },
        { prompt, model: "whisper-1" },
        { prompt, response_format: "text" },
        { prompt, stream: "true" },
        { prompt, call_name: "x" },
        { prompt, svc: '{"end_user_id":"x"}' }
      ]
      for (const fields of others) assertError(yield* transcribeWith(fields, headers), 409, "idempotency_conflict")
      const files = [audioPart({ filename: "other.wav" }), audioPart({ content: silence(501) })]
      for (const file of files) {
        assertError(yield* transcribe([file, field("prompt", prompt)], headers), 409, "idempotency_conflict")
      }
      assert.strictEqual(yield* settledBalance(tenant.organization), spent)
      const chat = yield* gateway.chat({ messages: [{ role: "user", content: "hi" }] }, headers)
      assert.strictEqual(chat.status, 200, "the idempotency key of one endpoint does not matter at another")
    })
  )

  it.effect("is repeated after a failure", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const headers = keyed(yield* gateway.tenant("1"))
      const failed = yield* transcribeWith({ prompt: "[fault:429 retry-after=3]", model: "gpt-transcribe" }, headers)
      assertError(failed, 429, "rate_limit_exceeded")
      assert.isNotNull(failed.headers.get("retry-after"))
      assert.strictEqual((yield* transcribeWith({ prompt }, headers)).status, 200)
      const bad = { ...headers, "idempotency-key": "two words" }
      assertError(yield* transcribeWith({ prompt }, bad), 400, "invalid_request", /Idempotency-Key/)
    })
  )
})

describeGateway(
  "A service by another name",
  (it) => {
    it.effect("is the name of the field in the form", () =>
      Effect.gen(function* () {
        const named = yield* transcribeWith({ acme: '{"call_name":"a"}', svc: "not JSON", model: "acme-auto" })
        assert.strictEqual(named.status, 200, named.text)
        assert.strictEqual((yield* receiptFor(named)).at("call_name"), "a")
        assertError(yield* transcribeWith({ acme: "not JSON" }), 400, "invalid_request", /^acme is not valid JSON/)
        assertError(yield* transcribeWith({ model: "svc-auto" }), 400, "invalid_model")
      })
    )
  },
  { SERVICE_NAME: "acme" }
)
