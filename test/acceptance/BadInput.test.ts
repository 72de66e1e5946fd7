/** Input that no client should send: each gets a clear error, leaves no hold open, and does not stop the gateway. */
import { request as httpRequest } from "node:http"
import { connect } from "node:net"

import { assert } from "@effect/vitest"
import { Effect, Schedule } from "effect"

import { answers, FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, type Reply, TestGateway } from "../support/TestGateway.ts"

const hi = { role: "user", content: "hi" }
const good = { model: "gpt-4o-mini", messages: [hi] }
const chatPath = "/v1/chat/completions"
const secret = "swordfish"

const assertError = (reply: Pick<Reply, "status" | "text">, status: number, code: string, message: RegExp) => {
  const about = `${reply.status} ${reply.text.slice(0, 300)}`
  assert.strictEqual(reply.status, status, about)
  const { error } = JSON.parse(reply.text)
  assert.deepStrictEqual(JSON.parse(reply.text), { error: { code, message: error.message } })
  assert.match(error.message, message, about)
  assert.notInclude(reply.text, secret)
}

/** Asserts that no hold is open and that a valid request is answered. */
const assertUnharmed = Effect.gen(function* () {
  const gateway = yield* TestGateway
  const provider = yield* FakeProvider
  provider.script(answers("fine"))
  assert.strictEqual((yield* gateway.chat(good)).status, 200)
  assert.strictEqual(yield* gateway.lingeringHolds, 0)
})

/**
 * Sends bytes as they are, at once or chunk by chunk, and reads the answer even if it comes before the last of them.
 */
const sendBytes = (body: Uint8Array | ReadonlyArray<Uint8Array>, headers: Record<string, string> = {}) =>
  Effect.flatMap(TestGateway, ({ key, url }) =>
    Effect.promise(
      () =>
        new Promise<Pick<Reply, "status" | "text">>((resolve, reject) => {
          const sent = httpRequest(url + chatPath, { method: "POST" }, (response) => {
            const chunks: Array<Buffer> = []
            response.on("data", (chunk: Buffer) => chunks.push(chunk))
            response.on("end", () =>
              resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() })
            )
          })
          sent.on("error", reject)
          const all = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers }
          for (const [name, value] of Object.entries(all)) sent.setHeader(name, value)
          if (body instanceof Uint8Array) sent.end(body)
          else {
            for (const chunk of body) sent.write(chunk)
            sent.end()
          }
        })
    )
  )

/** Sends text over a socket, and gives what was received until the server closed it or the client hung up. */
const overSocket = (text: string, options: { readonly hangUpAfterMillis: number }) =>
  Effect.flatMap(TestGateway, ({ url }) =>
    Effect.promise(
      () =>
        new Promise<string>((resolve) => {
          let received = ""
          const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) }, () => socket.write(text))
          socket.on("data", (data) => (received += data.toString()))
          socket.on("error", () => {})
          const hangUp = setTimeout(() => socket.destroy(), options.hangUpAfterMillis)
          socket.on("close", () => {
            clearTimeout(hangUp)
            resolve(received)
          })
        })
    )
  )

const malformed: ReadonlyArray<readonly [text: string, message: RegExp]> = [
  ["", /empty/],
  [" \n\t", /empty/],
  ["{", /not valid JSON/],
  [`{"messages": [{"role": "user", "content": "${secret}]}`, /not valid JSON/],
  [`{"messages": [${secret}]}`, /not valid JSON/],
  [`{"content": "${secret}",}`, /not valid JSON/],
  ["{'model': 'x'}", /not valid JSON/],
  ["undefined", /not valid JSON/],
  ["[]", /must be a JSON object/],
  [`[${JSON.stringify(good)}]`, /must be a JSON object/],
  ['"text"', /must be a JSON object/],
  ["7", /must be a JSON object/],
  ["null", /must be a JSON object/],
  ["true", /must be a JSON object/],
  ['{"model":"a","model":"b","messages":[]}', /repeats the key "model"/],
  ['{"model":"a","mod\\u0065l":"b","messages":[]}', /repeats the key "model"/],
  [`{"messages":[{"role":"user","content":"a","content":"b"}]}`, /repeats the key "content"/],
  [`{"x":${"[".repeat(128)}${"]".repeat(128)}}`, /deeper than 128/],
  [`{"x":${'{"a":'.repeat(200)}1${"}".repeat(200)}}`, /deeper than 128/],
  ["[".repeat(5_000_000), /deeper than 128/],
  [`{"temperature":1e999,"messages":[${JSON.stringify(hi)}]}`, /^temperature: /]
]

describeWithFakeProvider("Bad input", (it) => {
  it.effect("is refused with the reason when it is not a JSON object, without quoting it", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const [text, message] of malformed) assertError(yield* gateway.chat(text), 400, "invalid_request", message)
      yield* assertUnharmed
    })
  )

  it.effect("is refused when it is not UTF-8; a byte order mark is accepted", () =>
    Effect.gen(function* () {
      const body = (content: Buffer) =>
        Buffer.concat([
          Buffer.from('{"model":"gpt-4o-mini","messages":[{"role":"user","content":"'),
          content,
          Buffer.from('"}]}')
        ])
      for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
        assertError(yield* sendBytes(body(Buffer.from(bytes))), 400, "invalid_request", /UTF-8/)
      }
      const marked = yield* sendBytes(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body(Buffer.from("ü"))]))
      assert.strictEqual(marked.status, 200, marked.text)
      yield* assertUnharmed
    })
  )

  it.effect("is refused when it is too large, with and without a content-length", () =>
    Effect.gen(function* () {
      const large = Buffer.alloc(40 * 1024 * 1024, 0x20)
      const message = /at most 33554432 bytes/
      assertError(yield* sendBytes(large), 413, "request_too_large", message)
      const chunks = Array.from({ length: 40 }, (_, at) => large.subarray(at << 20, (at + 1) << 20))
      assertError(yield* sendBytes(chunks, { "transfer-encoding": "chunked" }), 413, "request_too_large", message)
      yield* assertUnharmed
    })
  )

  it.effect("is read as JSON whatever its content type", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8", "?"]) {
        assert.strictEqual((yield* gateway.chat(good, { "content-type": type })).status, 200, type)
      }
    })
  )

  it.effect("is dropped when the client leaves in the middle of it", () =>
    Effect.gen(function* () {
      const { key } = yield* TestGateway
      const head = `POST ${chatPath} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`
      yield* overSocket(`${head}content-length: 5000\r\n\r\n{"model":"gpt-4o-mini",`, { hangUpAfterMillis: 50 })
      yield* overSocket(`${head}transfer-encoding: chunked\r\n\r\nff\r\n{"model":`, { hangUpAfterMillis: 50 })
      yield* assertUnharmed
    })
  )

  it.effect("gets a JSON error also when it is not HTTP or its headers are too large", () =>
    Effect.gen(function* () {
      const gigantic = `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-pad: ${"x".repeat(100_000)}\r\n\r\n`
      for (const [text, message] of [
        [gigantic, /headers/],
        ["NONSENSE\r\n\r\n", /HTTP/],
        [`POST ${chatPath} HTTP/1.1\r\nhost: x\r\ncontent-length: nine\r\n\r\n`, /HTTP/]
      ] as const) {
        const received = yield* overSocket(text, { hangUpAfterMillis: 60_000 })
        const [head = "", body = ""] = received.split("\r\n\r\n")
        assert.match(head, /^HTTP\/1\.1 400 /)
        assert.match(head, /x-request-id: [0-9a-f-]{36}/i)
        assertError({ status: 400, text: body }, 400, "invalid_request", message)
      }
      yield* assertUnharmed
    })
  )

  it.effect(
    "that is merely large or unusual is answered: ten thousand messages, a megabyte of text, unusual characters",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const many = Array.from({ length: 10_000 }, (_, at) => ({
          role: at % 2 ? "assistant" : "user",
          content: `${at}`
        }))
        for (const content of ["\u0000", "\ud800", "👩‍👩‍👧", "x".repeat(100_000), `"\\\u2028`]) {
          provider.script()
          assert.strictEqual((yield* gateway.chat({ ...good, messages: [{ ...hi, content }] })).status, 200)
          const [received] = provider.received
          assert.deepStrictEqual(received?.body["messages"], [{ ...hi, content }])
        }
        provider.script()
        const reply = yield* gateway.chat({ ...good, model: "gpt-4.1-mini", messages: many })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.deepStrictEqual(provider.received[0]?.body["messages"], many)
        const routed = yield* gateway.chat({ messages: many })
        assert.strictEqual(routed.status, 200, routed.text)
        yield* assertUnharmed
      })
  )

  it.effect("in fields that are stored harms neither the session pin nor the receipt", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const text of ["a\u0000b", "\ud800", "'; DROP TABLE session_pin; --", "👩‍👩‍👧", "\\x00"]) {
        const reply = yield* gateway.chat({ messages: [hi], session_id: text, metadata: { call_name: text } })
        assert.strictEqual(reply.status, 200, JSON.stringify(text) + reply.text)
        const again = yield* gateway.chat({ messages: [hi], session_id: text })
        assert.strictEqual(again.at("model"), reply.at("model"))
        const receipt = yield* gateway.request("GET", `/v1/generations/${String(reply.at("id"))}`).pipe(
          Effect.repeat({
            until: ({ status }) => status === 200,
            schedule: Schedule.spaced("50 millis"),
            times: 1_200
          })
        )
        assert.strictEqual(receipt.status, 200, JSON.stringify(text))
      }
      yield* assertUnharmed
    })
  )

  it.effect("in a path is answered with not_found", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      for (const id of ["%00", "chatcmpl-%00", "x".repeat(8_000), "%F0%9F", "..%2f..%2f", "' OR 1=1"]) {
        const reply = yield* gateway.request("GET", `/v1/generations/${id}`)
        assertError(reply, 404, "not_found", /./)
      }
    })
  )

  it.effect("leaves no prompt and no key in the log", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const lines = (yield* gateway.logs).join("\n")
      for (const hidden of [gateway.key, "sk-openai", secret]) assert.notInclude(lines, hidden)
    })
  )
})
