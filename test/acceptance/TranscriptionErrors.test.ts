/** The contract's errors of transcriptions, row by row and in their order. None costs anything or leaves a hold. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { modelId } from "../../src/domain/Ids.ts"
import { maxFileBytes } from "../../src/http/audio/TranscriptionForm.ts"
import { as, refusal, settledBalance } from "../support/Chat.ts"
import { audioPart, field, type PartSpec, silence } from "../support/Multipart.ts"
import { describeGateway, type Reply, TestGateway, usd } from "../support/TestGateway.ts"
import { fieldParts, transcribe, transcribeWith, transcriptionPath } from "../support/TranscriptionForms.ts"

const secret = "the pelican flies at midnight"
const prompt = field("prompt", secret)
const tooLarge = audioPart({ content: Buffer.alloc(maxFileBytes + 1) })

const assertError = (reply: Reply, status: number, code: string, message = /./) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  assert.deepStrictEqual(JSON.parse(reply.text), { error: { code, message: reply.at("error.message") } })
  assert.match(String(reply.at("error.message")), message)
  assert.match(String(reply.headers.get("content-type")), /^application\/json/)
  assert.notInclude(reply.text, secret)
}

interface Row {
  readonly when: string
  readonly parts: ReadonlyArray<PartSpec>
  readonly code: string
  readonly message: RegExp
}

const invalidFiles: ReadonlyArray<Row> = [
  { when: "there is no file", parts: [], code: "invalid_request", message: /^file is missing/ },
  { when: "it has another name", parts: [audioPart({ name: "audio" })], code: "invalid_request", message: /missing/ },
  { when: "it is a plain field", parts: [field("file", silence())], code: "invalid_request", message: /filename/ },
  { when: "its name is empty", parts: [audioPart({ filename: "" })], code: "invalid_request", message: /filename/ },
  { when: "it is empty", parts: [audioPart({ content: "" })], code: "invalid_request", message: /^file is empty/ },
  { when: "there are two", parts: [audioPart(), audioPart()], code: "invalid_request", message: /given once/ },
  {
    when: "its extension is wrong and its content is audio",
    parts: [audioPart({ filename: "speech.txt", type: "audio/wav" })],
    code: "invalid_file_format",
    message: /wav, webm$/
  },
  {
    when: "it has no extension",
    parts: [audioPart({ filename: "wav" })],
    code: "invalid_file_format",
    message: /flac/
  },
  { when: "it is a byte too large", parts: [tooLarge], code: "file_too_large", message: /26214400 bytes/ }
]

const withFile = (fields: { readonly [name: string]: string }) => [audioPart(), ...fieldParts(fields)]

const invalidFields: ReadonlyArray<Row> = [
  ...["{", "[]", "null", ""].flatMap((text) => [
    { when: `svc is ${text}`, parts: withFile({ svc: text }), code: "invalid_request", message: /^svc / },
    { when: `metadata is ${text}`, parts: withFile({ metadata: text }), code: "invalid_request", message: /^metadata / }
  ]),
  { when: "the language", parts: withFile({ language: "eng" }), code: "invalid_request", message: /^language / },
  {
    when: "the temperature",
    parts: withFile({ temperature: "1.1" }),
    code: "invalid_request",
    message: /^temperature /
  },
  { when: "the model", parts: withFile({ model: "nope" }), code: "invalid_model", message: /nope/ },
  { when: "a deaf model", parts: withFile({ model: "gpt-4o" }), code: "invalid_model", message: /audio/ },
  {
    when: "the format",
    parts: withFile({ response_format: "verbose_json" }),
    code: "unsupported_response_format",
    message: /json or text/
  },
  { when: "call_name", parts: withFile({ call_name: " " }), code: "invalid_call_name", message: /1 to 64/ },
  {
    when: "a long call_name",
    parts: withFile({ svc: JSON.stringify({ call_name: "x".repeat(65) }) }),
    code: "invalid_call_name",
    message: /^svc.call_name /
  },
  {
    when: "a call_name that is null",
    parts: withFile({ metadata: '{"call_name":null}', call_name: "good" }),
    code: "invalid_call_name",
    message: /^metadata.call_name /
  },
  {
    when: "end_user_id",
    parts: withFile({ metadata: JSON.stringify({ end_user_id: "x".repeat(513) }) }),
    code: "invalid_end_user_id",
    message: /1 to 512/
  },
  {
    when: "an empty end_user_id",
    parts: withFile({ svc: '{"end_user_id":""}' }),
    code: "invalid_end_user_id",
    message: /svc/
  }
]

/** Faults in the contract's order, each with the correct part. */
const order: ReadonlyArray<readonly [code: string, bad: PartSpec, good: PartSpec]> = [
  ["invalid_request", field("svc", "{"), field("svc", "{}")],
  ["invalid_file_format", audioPart({ ...tooLarge, filename: "a.txt" }), tooLarge],
  ["file_too_large", tooLarge, audioPart()],
  ["invalid_model", field("model", "nope"), field("model", "gpt-4o-transcribe")],
  ["unsupported_response_format", field("response_format", "srt"), field("response_format", "text")],
  ["invalid_call_name", field("call_name", ""), field("call_name", "good")],
  ["invalid_end_user_id", field("metadata", '{"end_user_id":7}'), field("metadata", "{}")]
]

describeGateway("The errors of a transcription", (it) => {
  for (const [about, rows] of [
    ["file", invalidFiles],
    ["field", invalidFields]
  ] as const)
    it.effect(`are those of the contract for an invalid ${about}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        for (const { code, message, parts } of rows) {
          assertError(yield* transcribe([...parts, prompt], as(tenant)), 400, code, message)
        }
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      })
    )

  it.effect("come in the contract's order, whatever the order of the parts", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("0", { models: [modelId("gpt-transcribe")] })
      for (let mended = 0; mended <= order.length; mended++) {
        const parts = order.flatMap(([code, bad, good], at) => {
          // The file is one part, which has two faults.
          if (code === "invalid_file_format" && mended > at) return []
          if (code === "file_too_large" && mended < at) return []
          return [at < mended ? good : bad]
        })
        const [status, code] = mended < order.length ? [400, order[mended]?.[0] ?? ""] : [403, "model_not_allowed"]
        assertError(yield* transcribe(parts, as(tenant)), status, code)
        assertError(yield* transcribe(parts.toReversed(), as(tenant)), status, code)
      }
      const allowed = withFile({ model: "gpt-transcribe" })
      assertError(yield* transcribe(allowed, as(tenant)), 402, "insufficient_credits")
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
    })
  )

  it.effect("about the caller come before the form is read", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const bad = [field("svc", "{")]
      for (const authorization of ["", "Bearer ", "Bearer wrong", `Basic ${gateway.key}`, gateway.key]) {
        assertError(yield* transcribe(bad, { authorization }), 401, "unauthorized")
      }
      const shut = yield* gateway.tenant("0", { endpoints: ["chat.completions"], requestsPerMinute: 1 })
      assertError(yield* transcribe(bad, as(shut)), 403, "endpoint_not_allowed", /audio\.transcriptions/)
      assertError(yield* transcribe(bad, as(shut)), 403, "endpoint_not_allowed")
      const slow = yield* gateway.tenant("0", { endpoints: ["audio.transcriptions"], requestsPerMinute: 1 })
      assertError(yield* transcribe(bad, as(slow)), 400, "invalid_request")
      const limited = yield* transcribe(bad, as(slow))
      assertError(limited, 429, "rate_limit_exceeded")
      assert.match(String(limited.headers.get("retry-after")), /^\d+$/)
      const only = yield* gateway.tenant("1", { endpoints: ["audio.transcriptions"] })
      assert.strictEqual((yield* transcribeWith({}, as(only))).status, 200)
      assertError(yield* gateway.chat({ messages: [] }, as(only)), 403, "endpoint_not_allowed")
    })
  )

  it.effect("check the allowlist of the key for the model that the request resolves to", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const mini = yield* gateway.tenant("1", { models: [modelId("gpt-4o-mini-transcribe")] })
      // An id that the contract resolves to the default model, which is not on the allowlist.
      for (const model of ["gpt-4o-mini-transcribe", "whisper-1", "svc-auto"]) {
        assertError(yield* transcribeWith({ model }, as(mini)), 403, "model_not_allowed", /gpt-4o-transcribe/)
      }
      const hears = yield* gateway.tenant("1", { models: [modelId("gemini-2.5-flash")] })
      assert.strictEqual((yield* transcribeWith({ model: "gemini-2.5-flash" }, as(hears))).status, 200)
      assertError(yield* transcribeWith({}, as(hears)), 403, "model_not_allowed")
      assertError(yield* transcribeWith({ model: "nope" }, as(hears)), 400, "invalid_model")
    })
  )

  it.effect("report through the SDK that the balance is zero or negative, and only then", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const poor = yield* gateway.tenant("0")
      const file = new File([silence()], "speech.wav")
      const error = yield* refusal(() => poor.openai.audio.transcriptions.create({ file, model: "whisper-1" }))
      assert.deepStrictEqual([error.status, error.code], [402, "insufficient_credits"])
      const barely = yield* gateway.tenant("0.000000000001")
      assert.strictEqual((yield* transcribeWith({}, as(barely))).status, 200)
      assert.isBelow(Number(yield* settledBalance(barely.organization)), 0)
      assertError(yield* transcribeWith({}, as(barely)), 402, "insufficient_credits")
      yield* sql`UPDATE credit_account SET balance = 0 WHERE organization_id = ${barely.organization}`
      assertError(yield* transcribeWith({}, as(barely)), 402, "insufficient_credits")
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
    })
  )

  it.effect("name the expected format when the body has another one", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const send = (body: unknown, type: string) =>
        gateway.request("POST", transcriptionPath, body, { "content-type": type })
      for (const type of [
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/mixed; boundary=b",
        "x"
      ]) {
        assertError(
          yield* send({ model: "whisper-1", file: "x" }, type),
          400,
          "invalid_request",
          /multipart\/form-data/
        )
      }
      assertError(yield* send("x", "multipart/form-data"), 400, "invalid_request", /no boundary/)
      assertError(yield* send("x", "multipart/form-data; boundary=b"), 400, "invalid_request", /closing boundary/)
    })
  )

  it.effect("and all other requests leave no prompt in the log", () =>
    Effect.gen(function* () {
      const lines = yield* (yield* TestGateway).logs
      assert.isAbove(lines.length, 0)
      for (const line of lines) assert.notInclude(line, secret)
    })
  )
})
