/** The check that every suite's answers go through: it accepts what the gateway sends, and fails on anything else. */
import { connect } from "node:net"
import { text as readAll } from "node:stream/consumers"

import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServer, HttpServerResponse } from "effect/http"

import { checkedServerLayer, contractFault, type SentAnswer } from "../support/ContractCheck.ts"

const usage = {
  prompt_tokens: 1,
  completion_tokens: 2,
  total_tokens: 3,
  cost: 0.5,
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 }
}
const message = { role: "assistant", content: "Hi", refusal: null }
const svc = { routed: false, routed_model: null, routing_latency_ms: null }
const completion = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  system_fingerprint: "fp_1",
  choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
  usage,
  svc
}
const chunk = {
  ...completion,
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: { content: "Hi" }, logprobs: null, finish_reason: null }]
}
const notFound = { error: { code: "not_found", message: "There is no such route" } }
const error = { error: { code: "invalid_model", message: "There is no such model" } }

const chat = (body: string, more: Partial<SentAnswer> = {}): SentAnswer => ({
  method: "POST",
  path: "/v1/chat/completions",
  status: 200,
  contentType: "application/json",
  body,
  isComplete: true,
  ...more
})
const plain = (body: object, more: Partial<SentAnswer> = {}) => chat(JSON.stringify(body), more)
const stream = (...chunks: ReadonlyArray<object>) => chunks.map((data) => `data: ${JSON.stringify(data)}\n\n`).join("")
const sse = (body: string, more: Partial<SentAnswer> = {}) =>
  chat(body, { contentType: "text/event-stream; charset=utf-8", ...more })
const done = "data: [DONE]\n\n"
const renamed = ({ svc: metadata, ...rest }: typeof completion) => ({ ...rest, acme: metadata })

describe("An answer that the definition declares", () => {
  const answers: ReadonlyArray<readonly [name: string, answer: SentAnswer, serviceName?: string]> = [
    ["a plain answer", plain(completion)],
    ["a plain answer of a service with another name", plain(renamed(completion)), "acme"],
    ["a stream", sse(`: keep-alive\n\n${stream(chunk)}${done}`)],
    ["a stream that the client left in the middle of a line", sse(`${stream(chunk)}data: {"id`, { isComplete: false })],
    ["an error", plain(error, { status: 400 })],
    ["an error on a path that is not declared", plain(notFound, { path: "/nope", status: 404 })],
    ["a probe", plain({ status: "ok" }, { method: "GET", path: "/health/live?from=here" })]
  ]
  for (const [name, answer, serviceName] of answers)
    it(`passes: ${name}`, () => assert.isUndefined(contractFault(answer, serviceName)))
})

describe("An answer that the definition does not declare", () => {
  const { id: _id, ...withoutId } = completion
  const answers: ReadonlyArray<readonly [name: string, answer: SentAnswer, fault: RegExp, serviceName?: string]> = [
    ["a missing member", plain(withoutId), /Missing key\s+at \["id"\]/],
    ["a member of another type", plain({ ...completion, created: "now" }), /at \["created"\]/],
    ["a further member", plain({ ...completion, secret: 1 }), /at \["secret"\]/],
    ["a further member deep inside", plain({ ...completion, usage: { ...usage, vat: 1 } }), /at \["usage"\]\["vat"\]/],
    ["an old name of the service", plain(completion), /svc/, "acme"],
    ["a status", plain(completion, { status: 202 }), /status 202 is not declared/],
    ["an error code of another status", plain(error, { status: 402 }), /at \["error"\]\["code"\]/],
    [
      "a code that is not in the table",
      plain({ error: { ...error.error, code: "oops" } }, { path: "/nope" }),
      /oops|code/
    ],
    ["an error with the status of another code", plain(error, { path: "/nope", status: 404 }), /not_found/],
    ["a body that is not JSON", chat("{"), /not a JSON object/],
    ["a JSON string", chat('"Hi"', { path: "/v1/audio/transcriptions" }), /not a JSON object/],
    ["a content type", chat("<p>", { contentType: "text/html" }), /text\/html is not declared/],
    ["a chunk with a further member", sse(`${stream({ ...chunk, secret: 1 })}${done}`), /secret/],
    ["a broken chunk after good ones", sse(`${stream(chunk, chunk, { error })}${done}`), /Missing key/],
    ["a stream that just ends", sse(stream(chunk)), /does not end with \[DONE\]/],
    ["an event with a name", sse(`event: ping\n\n${done}`), /neither data nor a comment/],
    ["a stream on another path", sse(done, { path: "/v1/models" }), /a stream is not declared/]
  ]
  for (const [name, answer, fault, serviceName] of answers)
    it(`fails: ${name}`, () => assert.match(contractFault(answer, serviceName) ?? "no fault", fault))
})

describe("A checked server", () => {
  /** Serves this body as a plain answer to one request, and closes. */
  const serve = (body: object) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const answering = HttpServer.serve(Effect.succeed(HttpServerResponse.jsonUnsafe(body)))
      const server = answering.pipe(
        Layer.provideMerge(checkedServerLayer("svc")),
        Layer.provide(SecureRandom.layerWebCrypto)
      )
      const { address } = Context.get(yield* Layer.buildWithScope(server, scope), HttpServer.HttpServer)
      const url = `${HttpServer.formatAddress(address)}/v1/chat/completions`
      const text = yield* Effect.promise(() => fetch(url, { method: "POST" }).then((response) => response.text()))
      assert.deepStrictEqual(JSON.parse(text), body)
      return yield* Effect.exit(Scope.close(scope, Exit.void))
    })

  it.live("checks the answers to what never became a request", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const server = checkedServerLayer("svc").pipe(Layer.provide(SecureRandom.layerWebCrypto))
      const { address } = Context.get(yield* Layer.buildWithScope(server, scope), HttpServer.HttpServer)
      const { port } = new URL(HttpServer.formatAddress(address))
      const text = yield* Effect.promise(async () => {
        const socket = connect(Number(port), "127.0.0.1")
        socket.end("NONSENSE\r\n\r\n")
        return readAll(socket)
      })
      assert.match(text, /^HTTP\/1\.1 400 .*"code":"invalid_request"/s)
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(Scope.close(scope, Exit.void))))
    })
  )

  it.live("closes well when every answer was declared, and fails when one was not", () =>
    Effect.gen(function* () {
      assert.isTrue(Exit.isSuccess(yield* serve(completion)))
      const exit = yield* serve({ ...completion, object: "chat.completion.chunk" })
      assert.match(String(exit), /POST \/v1\/chat\/completions 200: .*Expected .*"object": "chat.completion"/s)
    })
  )
})
