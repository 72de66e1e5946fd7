/**
 * Responses that providers should not send, and do. Over every protocol, each of them gives the right answer or a
 * classified failure: never a crash, a hang, or a charge for what was not delivered.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { type ChatProtocolName, chatProtocolNames } from "../../src/catalog/Model.ts"
import { as, at, chunksOf, costOf, type Json, receiptOf, settledBalance, textIn, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"

/**
 * One kind of malformed response in a protocol. A kind that exists for plain answers or for streams alone has only one.
 */
interface Malformation {
  readonly plain?: (sample: Fake.WireAnswer) => Fake.Behaviour
  readonly stream?: (sample: Fake.WireAnswer) => Fake.Behaviour
  /** `answer`: the client gets all of it. `failure`: it gets an error, and pays nothing. */
  readonly expected: "answer" | "failure"
}

const text = "All of it. ÄÖ €"

const sends = (mediaType: string, body: Buffer | string, status = 200): Fake.Behaviour =>
  Fake.reply(status, body, { "content-type": mediaType })

const json = (body: unknown) => () => sends("application/json", typeof body === "string" ? body : JSON.stringify(body))

/** A complete stream in one write, after `edit`. */
const streamOf =
  (edit: (frames: ReadonlyArray<Buffer>) => ReadonlyArray<Buffer | string>) =>
  (sample: Fake.WireAnswer): Fake.Behaviour =>
    sends(sample.mediaType, joined(edit(framesOf(sample))))

const framesOf = ({ delta, end, start }: Fake.WireAnswer): ReadonlyArray<Buffer> => [
  ...start,
  delta(text.slice(0, 5)),
  delta(text.slice(5)),
  ...end
]

const joined = (pieces: ReadonlyArray<Buffer | string>): Buffer => Buffer.concat(pieces.map((one) => Buffer.from(one)))

/** The same for an edit of the text. A stream of binary messages is sent as it is. */
const streamText =
  (edit: (stream: string) => string) =>
  (sample: Fake.WireAnswer): Fake.Behaviour =>
    sample.mediaType === "text/event-stream"
      ? streamOf((frames) => [edit(joined(frames).toString())])(sample)
      : streamOf((frames) => frames)(sample)

const trickle =
  (bytes: (sample: Fake.WireAnswer) => Buffer, mediaType: (sample: Fake.WireAnswer) => string, size: number) =>
  (sample: Fake.WireAnswer): Fake.Behaviour =>
  async (response) => {
    const body = bytes(sample)
    response.writeHead(200, { "content-type": mediaType(sample) })
    for (let at = 0; at < body.length && !response.destroyed; at += size) {
      response.write(body.subarray(at, at + size))
      if (at % (size * 8) === 0) await Fake.pause(1)
    }
    response.end()
  }

const page = "<!doctype html><title>502 Bad gateway</title><h1>nginx</h1>"
const webPage = () => sends("text/html", page)

/** The same answer with a text in place of every number, and a number in place of everything else. */
const mistyped = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(mistyped)
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mistyped(member)]))
  return typeof value === "number" ? "many" : 42
}

/** The same answer with lists in place of objects, and objects in place of lists. */
const inverted = (value: unknown): unknown => {
  if (Array.isArray(value)) return { 0: inverted(value[0]) }
  return typeof value === "object" && value !== null ? Object.values(value).map(inverted) : value
}

const eachData = (edit: (data: unknown) => unknown) => (stream: string) =>
  stream.replaceAll(/^data: (\{.*\})$/gm, (_, data) => `data: ${JSON.stringify(edit(JSON.parse(data)))}`)

const mebibyte = 1024 * 1024
const anError = { error: { message: "The engine is on fire.", type: "server_error", code: "boom", status: "INTERNAL" } }
const half = (body: Buffer): Buffer => body.subarray(0, body.length / 2)
const plainText = ({ plain }: Fake.WireAnswer): string => JSON.stringify(plain(text))

const malformations: { readonly [name: string]: Malformation } = {
  "a web page": { plain: webPage, stream: webPage, expected: "failure" },
  "a web page with status 502": {
    plain: () => sends("text/html", page, 502),
    stream: () => sends("text/html", page, 502),
    expected: "failure"
  },
  "a web page with the media type of the answer": {
    plain: json(page),
    stream: (sample) => sends(sample.mediaType, page),
    expected: "failure"
  },
  "an empty body": { plain: json(""), stream: (sample) => sends(sample.mediaType, ""), expected: "failure" },
  "half an answer": {
    plain: (sample) => sends("application/json", half(Buffer.from(plainText(sample)))),
    stream: streamOf((frames) => [half(joined(frames))]),
    expected: "failure"
  },
  "an answer that is cut within its last character": {
    plain: (sample) => sends("application/json", Buffer.from(plainText(sample)).subarray(0, -1)),
    stream: streamOf((frames) => [joined(frames.slice(0, 3)).subarray(0, -4)]),
    expected: "failure"
  },
  "JSON that is not an object": { plain: json([]), stream: json(null), expected: "failure" },
  "an empty object": { plain: json({}), stream: json({}), expected: "failure" },
  "numbers in place of texts, and texts in place of numbers": {
    plain: (sample) => json(mistyped(sample.plain(text)))(),
    stream: (sample) => json(mistyped(sample.plain(text)))(),
    expected: "failure"
  },
  "lists in place of objects": {
    plain: (sample) => json(inverted(sample.plain(text)))(),
    stream: (sample) => json(inverted(sample.plain(text)))(),
    expected: "failure"
  },
  "nested brackets without an end": {
    plain: json("[".repeat(mebibyte)),
    stream: json("[".repeat(mebibyte)),
    expected: "failure"
  },
  "an error with status 200": { plain: json(anError), stream: json(anError), expected: "failure" },
  "an answer larger than the limit": {
    plain: (sample) => json(sample.plain("x".repeat(33 * mebibyte)))(),
    stream: (sample) => sends(sample.mediaType, joined([...sample.start, sample.delta("x".repeat(10 * mebibyte))])),
    expected: "failure"
  },
  "a stream that stops without an end": {
    stream: (sample) => sends(sample.mediaType, joined([...sample.start, sample.delta(text)])),
    expected: "failure"
  },
  "a stream in place of a plain answer": {
    plain: (sample) => streamOf((frames) => frames)(sample),
    expected: "failure"
  },
  "a plain answer in place of a stream": { stream: (sample) => json(sample.plain(text))(), expected: "answer" },
  "a last event without its blank line": { stream: streamText((stream) => stream.trimEnd()), expected: "answer" },
  "lines that end with CRLF": {
    stream: streamText((stream) => stream.replaceAll("\n", "\r\n")),
    expected: "answer"
  },
  "a byte order mark": {
    plain: (sample) => sends("application/json", `\uFEFF${plainText(sample)}`),
    stream: streamText((stream) => `\uFEFF${stream}`),
    expected: "answer"
  },
  "comments, pings and unknown fields": {
    stream: streamText(
      (stream) => `: hello\n\nretry: 10\n\n${stream.replaceAll("\n\n", "\nid: 7\nx: y\n\n: ping\n\n")}`
    ),
    expected: "answer"
  },
  "a first event that is sent twice": {
    stream: streamOf(([first = "", ...rest]) => [first, first, ...rest]),
    expected: "answer"
  },
  "a last event that is sent twice": {
    stream: streamOf((frames) => [...frames, frames.at(-1) ?? ""]),
    expected: "answer"
  },
  "members that are null or unknown": {
    plain: (sample) => json({ ...sample.plain(text), error: null, oracle: [{}], usage_note: null })(),
    stream: streamText(eachData((data) => ({ ...(data as Json), error: null, oracle: [{}], obfuscation: "abc" }))),
    expected: "answer"
  },
  "one byte at a time": {
    plain: trickle(
      (sample) => Buffer.from(plainText(sample)),
      () => "application/json",
      1
    ),
    stream: trickle(
      (sample) => joined(framesOf(sample)),
      ({ mediaType }) => mediaType,
      1
    ),
    expected: "answer"
  },
  "a chunk of megabytes": {
    plain: (sample) => json(sample.plain("x".repeat(10 * mebibyte)))(),
    stream: (sample) =>
      sends(sample.mediaType, joined([...sample.start, sample.delta("x".repeat(5 * mebibyte)), ...sample.end])),
    expected: "answer"
  }
}

/** Counts of tokens that cannot be true. */
const counts = [1e300, Number.MAX_SAFE_INTEGER, -5, 0.5]
const withCounts =
  (count: number) =>
  (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value
    const members = Object.entries(value).map(([key, member]) => [
      key,
      /tokens?(count)?$/i.test(key) ? count : withCounts(count)(member)
    ])
    return Array.isArray(value) ? value.map(withCounts(count)) : Object.fromEntries(members)
  }

/** A model for each pair, because the circuit breaker of an endpoint that failed may be open. */
const nameOf = (protocol: ChatProtocolName, malformation: string): string =>
  `${protocol}-${Object.keys(malformations).indexOf(malformation)}`

const environment = ({ url }: FakeProvider["Service"]) => {
  const file = join(inject("scratch"), `faults-${process.pid}.json`)
  const providers = chatProtocolNames.map((protocol) => ({
    id: `p-${protocol}`,
    protocol,
    base_url: url,
    api_key_env: "FAULTY_API_KEY",
    auth: "bearer"
  }))
  const models = chatProtocolNames.flatMap((protocol) =>
    [...Object.keys(malformations), "counts"].map((malformation) => ({
      id: nameOf(protocol, malformation),
      context_window: 100_000,
      max_output: 1_000,
      endpoints: [{ provider: `p-${protocol}`, price_usd_per_mtok: { input: 1, output: 2 } }]
    }))
  )
  writeFileSync(file, JSON.stringify({ providers, models }))
  return { CATALOG_FILE: file, FAULTY_API_KEY: "sk-of-the-operator" }
}

const price = 10n * 1_000_000n + 5n * 2_000_000n

/** Sends a request. Gives the reply, the answer or the last chunk, and the text of a stream. */
const send = Effect.fnUntraced(function* (model: string, stream: boolean, tenant: Tenant) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat({ model, messages: [user("Hello")], stream }, as(tenant))
  if (reply.status !== 200 || !stream) return { reply, last: JSON.parse(reply.text) as Json, streamed: undefined }
  const chunks = chunksOf(reply.text)
  return { reply, last: chunks.at(-1) ?? {}, streamed: textIn(chunks) }
})

const assertAnswered = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const gateway = yield* TestGateway
  const tenant = yield* gateway.tenant("1")
  const { last, reply, streamed } = yield* send(model, stream, tenant)
  assert.strictEqual(reply.status, 200, reply.text)
  assert.notProperty(last, "error")
  const content = streamed ?? String(reply.at("choices.0.message.content"))
  if (content.length < 100) assert.strictEqual(content, text)
  else assert.isAbove(content.length, mebibyte)
  assert.deepInclude(last["usage"], { prompt_tokens: 10, completion_tokens: 5 })
  assert.strictEqual(costOf(last), price)
  assert.strictEqual(usd("1") - (yield* settledBalance(tenant.organization)), price)
})

const assertFailed = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const gateway = yield* TestGateway
  const tenant = yield* gateway.tenant("1")
  const { last, reply, streamed } = yield* send(model, stream, tenant)
  assert.strictEqual(at(last, "error", "code"), "internal_error", reply.text.slice(0, 500))
  if (streamed === undefined) assert.strictEqual(reply.status, 500)
  else {
    // Only a stream that has begun may break in the middle.
    assert.notStrictEqual(streamed, "")
    assert.strictEqual(at(last, "choices", 0, "finish_reason"), "error")
  }
  assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
  const receipt = yield* receiptOf(streamed === undefined ? reply.headers.get("x-request-id") : last["id"], tenant)
  assert.strictEqual(at(receipt.at("attempts"), 0, "outcome"), streamed === undefined ? "Transient" : "answered")
})

describeWithFakeProvider(
  "A provider that sends",
  (it) => {
    for (const [name, malformation] of Object.entries(malformations))
      for (const kind of ["plain", "stream"] as const) {
        const behaviour = malformation[kind]
        if (behaviour === undefined) continue
        const tags = chatProtocolNames.map((protocol) => `[${protocol}: errors]`).join(" ")
        it.effect(
          `${name} (${kind}) is ${malformation.expected === "answer" ? "understood" : "a failure"} ${tags}`,
          () =>
            Effect.gen(function* () {
              const provider = yield* FakeProvider
              provider.script((response, received) => {
                // The model is in the path or in the body, and its id begins with the protocol.
                const request = `${received.path} ${String(received.body["model"])}`
                const protocol = chatProtocolNames.find((one) => request.includes(nameOf(one, name)))
                if (protocol === undefined) return void response.destroy()
                return behaviour(Fake.answerIn(protocol))(response, received)
              })
              const check = malformation.expected === "answer" ? assertAnswered : assertFailed
              yield* Effect.forEach(chatProtocolNames, (one) => check(nameOf(one, name), kind === "stream"), {
                concurrency: "unbounded"
              })
            })
        )
      }

    for (const count of counts)
      it.effect(`an impossible count of ${count} tokens is not charged in full`, () =>
        Effect.gen(function* () {
          const provider = yield* FakeProvider
          const gateway = yield* TestGateway
          provider.script((response, received) => {
            const request = `${received.path} ${String(received.body["model"])}`
            const protocol = chatProtocolNames.find((one) => request.includes(one)) ?? assert.fail(request)
            return json(withCounts(count)(Fake.answerIn(protocol).plain(text)))()(response, received)
          })
          for (const protocol of chatProtocolNames) {
            const tenant = yield* gateway.tenant("1")
            const { last, reply } = yield* send(nameOf(protocol, "counts"), false, tenant)
            assert.strictEqual(reply.status, 200, reply.text)
            const left = yield* settledBalance(tenant.organization)
            assert.strictEqual(usd("1") - left, costOf(last))
            assert.isTrue(left > usd("0.9"), `${protocol} charged ${String(at(last, "usage", "cost"))}`)
          }
        })
      )

    it.effect("any of these leaves no hold open", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      })
    )
  },
  environment
)
