/**
 * Uploads as bytes on a socket: at the limits, incomplete, stuck, and left by their clients.
 * On one engine only, because none of this reaches the database.
 */
import { request as httpRequest } from "node:http"

import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"

import { maxFileBytes } from "../../src/http/audio/TranscriptionForm.ts"
import { maxFormBytes } from "../../src/http/audio/UploadForm.ts"
import { eventually, refusal, settledBalance } from "../support/Chat.ts"
import { audioPart, field, type Multipart, multipart, type PartSpec } from "../support/Multipart.ts"
import { answerIn, openSocket, uploadHead } from "../support/SlowClients.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { layerGateway, type Reply, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"
import { transcribe, transcribeWith, transcriptionPath } from "../support/TranscriptionForms.ts"

const maxUploads = 2
const megabyte = 1024 * 1024

type Answer = Pick<Reply, "status" | "text">

/** Sends a form in pieces of this size, with a content-length unless it is chunked, and reads the answer. */
const upload = (
  { body, contentType }: Multipart,
  options: { readonly chunked?: boolean; readonly pieceBytes?: number; readonly key?: string } = {}
) =>
  Effect.flatMap(TestGateway, ({ key, url }) =>
    Effect.promise(
      () =>
        new Promise<Answer>((resolve, reject) => {
          const sent = httpRequest(url + transcriptionPath, { method: "POST" }, (response) => {
            const chunks: Array<Buffer> = []
            response.on("data", (chunk: Buffer) => chunks.push(chunk))
            response.on("end", () =>
              resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
            )
          })
          sent.on("error", reject)
          sent.setHeader("authorization", `Bearer ${options.key ?? key}`)
          sent.setHeader("content-type", contentType)
          if (!options.chunked) sent.setHeader("content-length", body.length)
          const pieceBytes = options.pieceBytes ?? megabyte
          for (let at = 0; at < body.length; at += pieceBytes) sent.write(body.subarray(at, at + pieceBytes))
          sent.end()
        })
    )
  )

const assertError = ({ status, text }: Answer, expected: number, code: string, message: RegExp) => {
  assert.strictEqual(status, expected, text.slice(0, 300))
  const { error } = JSON.parse(text)
  assert.deepStrictEqual(JSON.parse(text), { error: { code, message: error.message } })
  assert.match(error.message, message)
}

/** Asserts that uploads are accepted, that nothing is on hold, and that nothing was charged. */
const assertUnharmed = Effect.fnUntraced(function* (tenant: Tenant) {
  const gateway = yield* TestGateway
  assert.strictEqual(yield* gateway.lingeringHolds, 0)
  assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
  const replies = yield* Effect.all(
    Array.from({ length: maxUploads }, () => transcribeWith({})),
    { concurrency: "unbounded" }
  )
  assert.deepStrictEqual(
    replies.map(({ status }) => status),
    replies.map(() => 200)
  )
})

const large = (bytes: number, part: Partial<PartSpec> = {}) =>
  multipart([
    field("prompt", "[say:all of it]"),
    audioPart({ filename: "long.mp3", content: Buffer.alloc(bytes), ...part })
  ])

const gateway = Layer.unwrap(
  Effect.map(dataDirectory, (directory) => layerGateway({ DATA_DIR: directory, MAX_UPLOADS: String(maxUploads) }))
)

layer(gateway, { excludeTestServices: true, timeout: "90 seconds" })("An upload [embedded]", (it) => {
  it.effect("of exactly 25 MiB is transcribed, and one byte more is too large", () =>
    Effect.gen(function* () {
      const { key } = yield* (yield* TestGateway).tenant("1")
      for (const chunked of [false, true]) {
        const whole = yield* upload(large(maxFileBytes), { chunked, key })
        assert.strictEqual(whole.status, 200, whole.text)
        const { text, usage } = JSON.parse(whole.text)
        assert.strictEqual(text, "all of it")
        assert.approximately(usage.seconds, maxFileBytes / 12_000, 0.001)
        const over = yield* upload(large(maxFileBytes + 1), { chunked, key })
        assertError(over, 400, "file_too_large", /^file must have at most 26214400 bytes$/)
      }
    })
  )

  it.effect("that is far too large is refused as such, also through the SDK, with and without a content-length", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      for (const chunked of [false, true]) {
        const reply = yield* upload(large(3 * maxFileBytes), { chunked, key: tenant.key })
        assertError(reply, 400, "file_too_large", /26214400/)
        const junk = yield* upload(large(maxFormBytes, { name: "unknown" }), { chunked, key: tenant.key })
        assertError(junk, 400, "invalid_request", /^The form must have at most 33554432 bytes$/)
      }
      const file = new File([Buffer.alloc(2 * maxFileBytes)], "long.wav")
      const error = yield* refusal(() => tenant.openai.audio.transcriptions.create({ file, model: "whisper-1" }))
      assert.deepStrictEqual([error.status, error.code], [400, "file_too_large"])
      yield* assertUnharmed(tenant)
    })
  )

  it.effect("can arrive in pieces of any size, down to single bytes", () =>
    Effect.gen(function* () {
      for (const [pieceBytes, chunked] of [
        [1, true],
        [7, true],
        [1, false],
        [1_000, false]
      ] as const) {
        const reply = yield* upload(large(20_000), { chunked, pieceBytes })
        assert.strictEqual(reply.status, 200, reply.text)
      }
    })
  )

  it.effect("that is not a complete form is refused with the reason", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      const form = large(100_000)
      const cut = (end: number): Multipart => ({ ...form, body: form.body.subarray(0, end) })
      const rows: ReadonlyArray<readonly [form: Multipart, message: RegExp]> = [
        [{ ...form, contentType: "multipart/form-data" }, /names no boundary/],
        [{ ...form, contentType: "multipart/form-data; boundary=other" }, /ends before its closing boundary/],
        [cut(0), /ends before/],
        [cut(10), /ends before/],
        [cut(50_000), /ends before/],
        [cut(form.body.length - 4), /ends before/],
        [multipart(Array.from({ length: 10_000 }, (_, at) => field(`field-${at}`, "x"))), /at most 64 parts/],
        [multipart(Array.from({ length: 10_000 }, () => audioPart())), /at most 64 parts/],
        [
          multipart([audioPart({ head: `content-disposition: form-data; name="file"; x="${"x".repeat(20_000)}"` })]),
          /headers/
        ],
        [multipart([audioPart(), field("prompt", new Uint8Array([0xff, 0xfe]))]), /^prompt is not valid UTF-8/]
      ]
      for (const chunked of [false, true]) {
        for (const [bad, message] of rows) {
          assertError(yield* upload(bad, { chunked, key: tenant.key }), 400, "invalid_request", message)
        }
      }
      yield* assertUnharmed(tenant)
    })
  )

  it.effect("whose client stops sending is refused with 408, and its connection closed", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      const form = large(5 * megabyte)
      const clients = yield* Effect.forEach([0, 1, megabyte], (bytes) =>
        Effect.tap(openSocket, (client) =>
          Effect.sync(() => {
            client.send(uploadHead(tenant.key, form))
            client.send(form.body.subarray(0, bytes))
          })
        )
      )
      for (const { closed } of clients) {
        const answer = answerIn(yield* Effect.promise(() => closed))
        assertError(answer, 408, "request_timeout", /^Nothing of the request body arrived for 5 seconds$/)
        assert.strictEqual(answer.headers.get("connection"), "close")
      }
      yield* assertUnharmed(tenant)
    })
  )

  it.effect("whose client leaves in the middle of it, or of the transcription, frees everything", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const form = large(5 * megabyte, { content: Buffer.alloc(5 * megabyte, "x") })
      for (let leaving = 0; leaving < 2 * maxUploads; leaving++) {
        const client = yield* openSocket
        client.send(uploadHead(tenant.key, form))
        yield* Effect.promise(() => client.received(/100 Continue/))
        client.send(form.body.subarray(0, leaving * 100_000))
        client.hangUp()
      }
      const whole = multipart([field("prompt", "[fault:stall 60s]"), audioPart()])
      const client = yield* openSocket
      client.send(uploadHead(tenant.key, whole))
      client.send(whole.body)
      yield* eventually(
        Effect.map(gateway.openHolds, (holds) => (holds === 1 ? true : undefined)),
        "the hold"
      )
      client.hangUp()
      yield* assertUnharmed(tenant)
    })
  )

  it.effect(
    "with `expect: 100-continue` is told to continue when it is allowed, and refused before it is sent when it is not",
    () =>
      Effect.gen(function* () {
        const { key } = yield* TestGateway
        const form = multipart([audioPart()])
        const headers = (key: string) => uploadHead(key, form).replace("expect:", "connection: close\r\nexpect:")
        const accepted = yield* openSocket
        accepted.send(headers(key))
        assert.strictEqual(yield* Effect.promise(() => accepted.received(/\r\n\r\n/)), "HTTP/1.1 100 Continue\r\n\r\n")
        accepted.hangUp()
        const refused = yield* openSocket
        refused.send(headers("wrong"))
        const answer = answerIn(yield* Effect.promise(() => refused.closed))
        assertError(answer, 401, "unauthorized", /API key/)
        const reply = yield* transcribe([audioPart()])
        assert.strictEqual(reply.status, 200)
      })
  )
})
