/** Pages of other origins: what they may call and read, at the level of headers and in a real browser. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect, Layer } from "effect"

import { browser, chromiumPath } from "../support/Browser.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { driven } from "../support/HttpDriver.ts"
import { dataDirectory } from "../support/TestDatabase.ts"
import { layerGateway, TestGateway } from "../support/TestGateway.ts"

/** A browser starts slowly on a busy machine. */
const browserTimeout = 180_000

const page = "https://app.example.com"
const options = { excludeTestServices: true, timeout: "3 minutes" } as const

const describeWith = (
  name: string,
  environment: Environment,
  suite: (it: Vitest.MethodsNonLive<TestGateway>) => void
) =>
  layer(
    Layer.unwrap(Effect.map(dataDirectory, (directory) => layerGateway({ DATA_DIR: directory, ...environment }))),
    options
  )(`${name} [embedded]`, suite)

const send = (path: string, method: string, headers: Record<string, string>, body?: string) =>
  Effect.flatMap(TestGateway, ({ url }) =>
    Effect.promise(async () => {
      const response = await driven(url + path, {
        method,
        headers,
        isRepeatable: true,
        ...(body !== undefined && { body })
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    })
  )

const preflight = (path: string, origin: string, more: Record<string, string> = {}) =>
  send(path, "OPTIONS", { origin, "access-control-request-method": "POST", ...more })

const listOf = (headers: Headers, name: string): ReadonlyArray<string> => (headers.get(name) ?? "").split(", ")

const corsHeadersOf = (headers: Headers): ReadonlyArray<string> =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-") || name === "vary")

describeWith("Without CORS_ORIGINS", {}, (it) => {
  it.effect("no response has a header of CORS, and a preflight is any request", () =>
    Effect.gen(function* () {
      const { chat } = yield* TestGateway
      const asked = yield* preflight("/v1/chat/completions", page)
      assert.strictEqual(asked.status, 405)
      const answered = yield* chat({ messages: [{ role: "user", content: "Hello" }] }, { origin: page })
      assert.strictEqual(answered.status, 200)
      for (const { headers } of [asked, answered]) assert.deepStrictEqual(corsHeadersOf(headers), [])
    })
  )
})

describeWith("With a list in CORS_ORIGINS", { CORS_ORIGINS: `https://other.example.com, ${page}` }, (it) => {
  it.effect("a preflight names the origin, and every method and header that clients use", () =>
    Effect.gen(function* () {
      for (const path of ["/v1/chat/completions", "/v1/models/gpt-5-mini", "/v1/nothing", "//V1/models/"]) {
        const asked = "authorization,content-type,x-stainless-os,x-title"
        const { headers, status, text } = yield* preflight(path, page, { "access-control-request-headers": asked })
        assert.deepStrictEqual([status, text], [204, ""])
        assert.strictEqual(headers.get("access-control-allow-origin"), page)
        assert.strictEqual(headers.get("vary"), "origin")
        assert.isNull(headers.get("access-control-allow-credentials"))
        assert.includeMembers([...listOf(headers, "access-control-allow-methods")], ["GET", "POST", "DELETE"])
        assert.includeMembers(
          [...listOf(headers, "access-control-allow-headers")],
          [...asked.split(","), "x-api-key", "anthropic-version", "anthropic-beta", "idempotency-key", "x-session-id"]
        )
        assert.isAbove(Number(headers.get("access-control-max-age")), 0)
      }
    })
  )

  it.effect("preflights need no key, take none of its limit, and are no failures in the log", () =>
    Effect.gen(function* () {
      const { logs, tenant } = yield* TestGateway
      const { key } = yield* tenant("1", { requestsPerMinute: 1 })
      const logged = (yield* logs).length
      for (let times = 0; times < 5; times++)
        assert.strictEqual((yield* preflight("/v1/models", page, { authorization: `Bearer ${key}` })).status, 204)
      const { headers, status } = yield* send("/v1/models", "GET", { origin: page, authorization: `Bearer ${key}` })
      assert.deepStrictEqual([status, headers.get("x-ratelimit-remaining-requests")], [200, "0"])
      const lines = (yield* logs).slice(logged)
      assert.deepStrictEqual(
        lines.filter((line) => /"level":"(?:WARN|ERROR|FATAL)"|"outcome":"failed"/i.test(line)),
        []
      )
    })
  )

  it.effect("answers, streams and errors can be read by the page, with their headers", () =>
    Effect.gen(function* () {
      const { key } = yield* TestGateway
      const body = JSON.stringify({ messages: [{ role: "user", content: "Hello" }] })
      const authorization = `Bearer ${key}`
      const chat = "/v1/chat/completions"
      const responses = [
        yield* send(chat, "POST", { origin: page, authorization }, body),
        yield* send(chat, "POST", { origin: page, authorization }, body.replace("{", '{"stream":true,')),
        yield* send(chat, "POST", { origin: page }, body),
        yield* send(chat, "POST", { origin: page, authorization }, "{"),
        yield* send(chat, "DELETE", { origin: page, authorization }),
        yield* send("/v1/nothing", "GET", { origin: page, authorization })
      ]
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 200, 401, 400, 405, 404]
      )
      for (const { headers } of responses) {
        assert.strictEqual(headers.get("access-control-allow-origin"), page)
        assert.strictEqual(headers.get("vary"), "origin")
        const exposed = listOf(headers, "access-control-expose-headers")
        for (const name of headers.keys())
          if (/^x-|^retry|^idempotent/.test(name) && name !== "x-accel-buffering") assert.include(exposed, name)
        assert.includeMembers([...exposed], ["x-svc-adjusted", "retry-after", "idempotent-replayed"])
      }
      assert.match(responses[1]?.text ?? "", /data: \[DONE\]/)
    })
  )

  it.effect("other origins are not named, and caches are told that the answer depends on it", () =>
    Effect.gen(function* () {
      const { key } = yield* TestGateway
      const authorization = `Bearer ${key}`
      for (const origin of ["https://evil.example.com", "http://app.example.com", `${page}.evil.com`, "null"]) {
        for (const { headers } of [
          yield* preflight("/v1/models", origin),
          yield* send("/v1/models", "GET", { origin, authorization })
        ]) {
          assert.isNull(headers.get("access-control-allow-origin"), origin)
          assert.strictEqual(headers.get("vary"), "origin")
        }
      }
      assert.strictEqual((yield* send("/v1/models", "GET", { authorization })).headers.get("vary"), "origin")
    })
  )

  it.effect("nothing but /v1 can be called", () =>
    Effect.gen(function* () {
      for (const path of ["/admin/v1/keys", "/metrics", "/docs", "/health/live"]) {
        const asked = yield* preflight(path, page)
        assert.oneOf(asked.status, [404, 405], path)
        const sent = yield* send(path, "GET", { origin: page })
        for (const { headers } of [asked, sent])
          assert.deepStrictEqual(
            [...corsHeadersOf(headers)].filter((name) => name !== "vary"),
            [],
            path
          )
      }
    })
  )
})

/** Serves an empty page, so that a browser has an origin for it. */
const emptyPage = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer((_request, response) => void response.setHeader("content-type", "text/html").end("<p>"))
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => (server.closeAllConnections(), server.close()))
).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`))

interface Seen {
  readonly status: number
  readonly id: string | null
  readonly pieces: number
  readonly text: string
}

/** Runs in the page: reads a response of another origin piece by piece. */
const fetchInPage = async ({ authorization, body, url }: Record<"authorization" | "body" | "url", string>) => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "x-stainless-lang": "js", "x-session-id": "s" },
    body
  })
  const seen: Array<string> = []
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read())
    seen.push(piece.value)
  return { status: response.status, id: response.headers.get("x-request-id"), pieces: seen.length, text: seen.join("") }
}

const streamsToPage = Effect.gen(function* () {
  const { key, url } = yield* TestGateway
  const open = yield* browser
  const address = yield* emptyPage
  const [streamed, refused] = yield* Effect.promise(async (): Promise<ReadonlyArray<Seen>> => {
    const foreign = await open.newPage()
    await foreign.goto(address)
    const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: "Hello" }] })
    return [
      await foreign.evaluate(fetchInPage, { authorization: `Bearer ${key}`, body, url }),
      await foreign.evaluate(fetchInPage, { authorization: "Bearer nobody", body, url })
    ]
  })
  assert.strictEqual(streamed?.status, 200)
  assert.match(streamed?.id ?? "", /^[0-9a-f-]{36}$/)
  assert.match(streamed?.text ?? "", /"finish_reason":"stop".*data: \[DONE\]\n\n$/s)
  assert.deepStrictEqual([refused?.status, refused?.text.includes('"unauthorized"')], [401, true])
})

const isKeptOut = Effect.gen(function* () {
  const { key, url } = yield* TestGateway
  const open = yield* browser
  const address = yield* emptyPage
  const outcome = yield* Effect.promise(async () => {
    const foreign = await open.newPage()
    await foreign.goto(address)
    const call = { authorization: `Bearer ${key}`, body: "{}", url }
    return foreign.evaluate(fetchInPage, call).then(
      () => "read",
      (error: unknown) => String(error)
    )
  })
  assert.match(outcome, /Failed to fetch/)
})

const inBrowser = (
  it: Vitest.MethodsNonLive<TestGateway>,
  name: string,
  test: ReturnType<Parameters<typeof it.effect>[1]>
) => {
  if (chromiumPath !== undefined) it.effect(name, () => test, browserTimeout)
  // There is no browser on this machine, and the name of the test says so.
  else it.effect.skip(`${name} [no chromium]`, () => test)
}

describeWith("With CORS_ORIGINS=*", { CORS_ORIGINS: "*" }, (it) => {
  it.effect("every origin may call, and none is named", () =>
    Effect.gen(function* () {
      const { headers, status } = yield* preflight("/v1/models", page)
      assert.deepStrictEqual(
        [status, headers.get("access-control-allow-origin"), headers.get("vary")],
        [204, "*", null]
      )
    })
  )

  inBrowser(it, "a page in Chromium reads a stream and an error of the gateway", streamsToPage)
})

describeWith("With another origin in CORS_ORIGINS", { CORS_ORIGINS: page }, (it) => {
  inBrowser(it, "a page in Chromium reads nothing", isKeptOut)
})
