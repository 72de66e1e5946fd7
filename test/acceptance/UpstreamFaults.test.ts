/**
 * What providers should not send, and do. Over every protocol, each of these gives the right answer or a classified
 * failure: never a crash, a hang, or a charge for what did not arrive.
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

/** How one bad habit of providers looks in a protocol; a kind of answer that it cannot have is left out. */
interface Habit {
  readonly plain?: (sample: Fake.WireAnswer) => Fake.Behaviour
  readonly stream?: (sample: Fake.WireAnswer) => Fake.Behaviour
  /** `answer`: the client gets all of it. `failure`: it gets an error, and pays nothing. */
  readonly gives: "answer" | "failure"
}

const text = "All of it. ÄÖ €"

const sends =
  (mediaType: string, body: Buffer | string, status = 200): Fake.Behaviour =>
  (response) =>
    void response.writeHead(status, { "content-type": mediaType }).end(body)

const json = (body: unknown) => () => sends("application/json", typeof body === "string" ? body : JSON.stringify(body))

/** A whole stream in one write, changed by `edit`. */
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

/** An edit of text; a stream of binary messages has none. */
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
      if (at % (size * 8) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    response.end()
  }

const page = "<!doctype html><title>502 Bad gateway</title><h1>nginx</h1>"
const webPage = () => sends("text/html", page)

/** The same answer with a number where anything else is expected, and something else where a number is. */
const mistyped = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(mistyped)
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mistyped(member)]))
  return typeof value === "number" ? "many" : 42
}

/** The same answer with lists where objects are expected, and the other way around. */
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

const habits: { readonly [name: string]: Habit } = {
  "a web page": { plain: webPage, stream: webPage, gives: "failure" },
  "a web page with status 502": {
    plain: () => sends("text/html", page, 502),
    stream: () => sends("text/html", page, 502),
    gives: "failure"
  },
  "a web page that calls itself what was asked for": {
    plain: json(page),
    stream: (sample) => sends(sample.mediaType, page),
    gives: "failure"
  },
  nothing: { plain: json(""), stream: (sample) => sends(sample.mediaType, ""), gives: "failure" },
  "half an answer": {
    plain: (sample) => sends("application/json", half(Buffer.from(plainText(sample)))),
    stream: streamOf((frames) => [half(joined(frames))]),
    gives: "failure"
  },
  "an answer that breaks off within its last character": {
    plain: (sample) => sends("application/json", Buffer.from(plainText(sample)).subarray(0, -1)),
    stream: streamOf((frames) => [joined(frames.slice(0, 3)).subarray(0, -4)]),
    gives: "failure"
  },
  "JSON that is no object": { plain: json([]), stream: json(null), gives: "failure" },
  "an empty object": { plain: json({}), stream: json({}), gives: "failure" },
  "numbers for texts, and texts for numbers": {
    plain: (sample) => json(mistyped(sample.plain(text)))(),
    stream: (sample) => json(mistyped(sample.plain(text)))(),
    gives: "failure"
  },
  "lists for objects": {
    plain: (sample) => json(inverted(sample.plain(text)))(),
    stream: (sample) => json(inverted(sample.plain(text)))(),
    gives: "failure"
  },
  "nothing but brackets": { plain: json("[".repeat(mebibyte)), stream: json("[".repeat(mebibyte)), gives: "failure" },
  "an error with status 200": { plain: json(anError), stream: json(anError), gives: "failure" },
  "an answer larger than memory is for": {
    plain: (sample) => json(sample.plain("x".repeat(33 * mebibyte)))(),
    stream: (sample) => sends(sample.mediaType, joined([...sample.start, sample.delta("x".repeat(10 * mebibyte))])),
    gives: "failure"
  },
  "a stream that stops without an end": {
    stream: (sample) => sends(sample.mediaType, joined([...sample.start, sample.delta(text)])),
    gives: "failure"
  },
  "a stream for a plain answer": { plain: (sample) => streamOf((frames) => frames)(sample), gives: "failure" },
  "a plain answer for a stream": { stream: (sample) => json(sample.plain(text))(), gives: "answer" },
  "a last event without its blank line": { stream: streamText((stream) => stream.trimEnd()), gives: "answer" },
  "lines that end as in Windows": {
    stream: streamText((stream) => stream.replaceAll("\n", "\r\n")),
    gives: "answer"
  },
  "a byte order mark": {
    plain: (sample) => sends("application/json", `\uFEFF${plainText(sample)}`),
    stream: streamText((stream) => `\uFEFF${stream}`),
    gives: "answer"
  },
  "comments, pings and unknown fields": {
    stream: streamText(
      (stream) => `: hello\n\nretry: 10\n\n${stream.replaceAll("\n\n", "\nid: 7\nx: y\n\n: ping\n\n")}`
    ),
    gives: "answer"
  },
  "a beginning that comes twice": {
    stream: streamOf(([first = "", ...rest]) => [first, first, ...rest]),
    gives: "answer"
  },
  "an end that comes twice": { stream: streamOf((frames) => [...frames, frames.at(-1) ?? ""]), gives: "answer" },
  "members that are null or unknown": {
    plain: (sample) => json({ ...sample.plain(text), error: null, oracle: [{}], usage_note: null })(),
    stream: streamText(eachData((data) => ({ ...(data as Json), error: null, oracle: [{}], obfuscation: "abc" }))),
    gives: "answer"
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
    gives: "answer"
  },
  "a chunk of megabytes": {
    plain: (sample) => json(sample.plain("x".repeat(10 * mebibyte)))(),
    stream: (sample) =>
      sends(sample.mediaType, joined([...sample.start, sample.delta("x".repeat(5 * mebibyte)), ...sample.end])),
    gives: "answer"
  }
}

/** Counts that nobody can have used. */
const counts = [1e300, Number.MAX_SAFE_INTEGER, -5, 0.5]
const unbelievable =
  (count: number) =>
  (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value
    const members = Object.entries(value).map(([key, member]) => [
      key,
      /tokens?(count)?$/i.test(key) ? count : unbelievable(count)(member)
    ])
    return Array.isArray(value) ? value.map(unbelievable(count)) : Object.fromEntries(members)
  }

/** A provider and a model of its own for each pair, because an endpoint that failed may rest. */
const nameOf = (protocol: ChatProtocolName, habit: string): string =>
  `${protocol}-${Object.keys(habits).indexOf(habit)}`

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
    [...Object.keys(habits), "counts"].map((habit) => ({
      id: nameOf(protocol, habit),
      context_window: 100_000,
      max_output: 1_000,
      endpoints: [{ provider: `p-${protocol}`, price_usd_per_mtok: { input: 1, output: 2 } }]
    }))
  )
  writeFileSync(file, JSON.stringify({ providers, models }))
  return { CATALOG_FILE: file, FAULTY_API_KEY: "sk-of-the-operator" }
}

const price = 10n * 1_000_000n + 5n * 2_000_000n

/** Asks, and returns what the client was told: the text, or the error it ended with. */
const told = Effect.fnUntraced(function* (model: string, stream: boolean, tenant: Tenant) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat({ model, messages: [user("Hello")], stream }, as(tenant))
  if (reply.status !== 200 || !stream) return { reply, last: JSON.parse(reply.text) as Json, said: undefined }
  const chunks = chunksOf(reply.text)
  return { reply, last: chunks.at(-1) ?? {}, said: textIn(chunks) }
})

const assertAnswered = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const gateway = yield* TestGateway
  const tenant = yield* gateway.tenant("1")
  const { last, reply, said } = yield* told(model, stream, tenant)
  assert.strictEqual(reply.status, 200, reply.text)
  assert.notProperty(last, "error")
  const content = said ?? String(reply.at("choices.0.message.content"))
  if (content.length < 100) assert.strictEqual(content, text)
  else assert.isAbove(content.length, mebibyte)
  assert.deepInclude(last["usage"], { prompt_tokens: 10, completion_tokens: 5 })
  assert.strictEqual(costOf(last), price)
  assert.strictEqual(usd("1") - (yield* settledBalance(tenant.organization)), price)
})

const assertFailed = Effect.fnUntraced(function* (model: string, stream: boolean) {
  const gateway = yield* TestGateway
  const tenant = yield* gateway.tenant("1")
  const { last, reply, said } = yield* told(model, stream, tenant)
  assert.strictEqual(at(last, "error", "code"), "internal_error", reply.text.slice(0, 500))
  if (said === undefined) assert.strictEqual(reply.status, 500)
  else {
    // Only what has already said something may break in the middle.
    assert.notStrictEqual(said, "")
    assert.strictEqual(at(last, "choices", 0, "finish_reason"), "error")
  }
  assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
  const receipt = yield* receiptOf(said === undefined ? reply.headers.get("x-request-id") : last["id"], tenant)
  assert.strictEqual(at(receipt.at("attempts"), 0, "outcome"), said === undefined ? "Transient" : "answered")
})

describeWithFakeProvider(
  "A provider that sends",
  (it) => {
    for (const [name, habit] of Object.entries(habits))
      for (const kind of ["plain", "stream"] as const) {
        const behaviour = habit[kind]
        if (behaviour === undefined) continue
        const tags = chatProtocolNames.map((protocol) => `[${protocol}: errors]`).join(" ")
        it.effect(`${name} (${kind}) is ${habit.gives === "answer" ? "understood" : "a failure"} ${tags}`, () =>
          Effect.gen(function* () {
            const provider = yield* FakeProvider
            provider.script((response, received) => {
              // The model is in the path or in the body, and its name begins with its protocol.
              const where = `${received.path} ${String(received.body["model"])}`
              const protocol = chatProtocolNames.find((one) => where.includes(nameOf(one, name)))
              if (protocol === undefined) return void response.destroy()
              return behaviour(Fake.answerIn(protocol))(response, received)
            })
            const check = habit.gives === "answer" ? assertAnswered : assertFailed
            yield* Effect.forEach(chatProtocolNames, (one) => check(nameOf(one, name), kind === "stream"), {
              concurrency: "unbounded"
            })
          })
        )
      }

    for (const count of counts)
      it.effect(`a count of ${count} tokens charges no more than anybody can believe`, () =>
        Effect.gen(function* () {
          const provider = yield* FakeProvider
          const gateway = yield* TestGateway
          provider.script((response, received) => {
            const where = `${received.path} ${String(received.body["model"])}`
            const protocol = chatProtocolNames.find((one) => where.includes(one)) ?? assert.fail(where)
            return json(unbelievable(count)(Fake.answerIn(protocol).plain(text)))()(response, received)
          })
          for (const protocol of chatProtocolNames) {
            const tenant = yield* gateway.tenant("1")
            const { last, reply } = yield* told(nameOf(protocol, "counts"), false, tenant)
            assert.strictEqual(reply.status, 200, reply.text)
            const left = yield* settledBalance(tenant.organization)
            assert.strictEqual(usd("1") - left, costOf(last))
            assert.isTrue(left > usd("0.9"), `${protocol} charged ${String(at(last, "usage", "cost"))}`)
          }
        })
      )

    it.effect("any of this leaves no hold open", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      })
    )
  },
  environment
)
