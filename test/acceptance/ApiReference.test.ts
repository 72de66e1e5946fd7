/** What readers of `/openapi.json` and `/docs` rely on. */
import { request } from "node:http"
import { brotliDecompressSync, gunzipSync } from "node:zlib"

import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { at, type Json } from "../support/Chat.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"

const headersOf = (document: Json, path: string): ReadonlyArray<unknown> =>
  (at(document, "paths", path, "post", "parameters") as ReadonlyArray<Json>).map(({ name }) => name)

interface RawReply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

/** `fetch` would decompress the body. */
const get = Effect.fnUntraced(function* (path: string, headers: Record<string, string> = {}) {
  const { url } = yield* TestGateway
  return yield* Effect.callback<RawReply>((resume) => {
    request(url + path, { headers }, (response) => {
      const pieces: Array<Buffer> = []
      response.on("data", (piece: Buffer) => pieces.push(piece))
      response.on("end", () => {
        const { headers, statusCode = 0 } = response
        resume(Effect.succeed({ status: statusCode, headers, body: Buffer.concat(pieces) }))
      })
    }).end()
  })
})

/** The addresses that the page loads or links to, as they stand in it. */
const addressesIn = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/\s(?:src|href)="([^"#][^"]*)"/g)].map(([, address = ""]) => address)

describeGateway("The API reference", (it) => {
  it.effect("names the scheme of the key, the server and the headers", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* TestGateway).request("GET", "/openapi.json")
      assert.match(reply.headers.get("content-type") ?? "", /^application\/json/)
      const document: Json = JSON.parse(reply.text)
      const scheme = at(document, "components", "securitySchemes", "bearer")
      assert.deepInclude(scheme, { type: "http", scheme: "bearer" })
      assert.deepStrictEqual(at(document, "servers", 0, "url"), "/")
      assert.includeMembers([...headersOf(document, "/v1/chat/completions")], ["idempotency-key", "x-session-id"])
      assert.include(headersOf(document, "/v1/audio/transcriptions"), "idempotency-key")
    })
  )

  it.effect("is a page that loads nothing from another host, and forbids it", () =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* (yield* TestGateway).request("GET", "/docs")
      assert.strictEqual(status, 200)
      assert.match(headers.get("content-type") ?? "", /^text\/html/)
      assert.notMatch(text, /<(?:script|link|img)[^>]+(?:src|href)="https?:/)
      // Relative to the page, so that they hold behind a prefix of the path too.
      for (const address of addressesIn(text)) assert.match(address, /^(?:docs\/|openapi\.json$|data:)/)
      const policy = headers.get("content-security-policy") ?? ""
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/)
      for (const rule of ["img-src 'self' data:", "frame-ancestors 'none'", "require-trusted-types-for 'script'"])
        assert.include(policy, rule)
      assert.notInclude(policy, "unsafe")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    })
  )

  it.effect("is small, in the encoding that the client takes", () =>
    Effect.gen(function* () {
      const page = yield* get("/docs")
      const paths = ["docs", ...addressesIn(page.body.toString()).filter((address) => address.startsWith("docs/"))]
      assert.lengthOf(paths, 3)
      let total = 0
      for (const path of paths) {
        const plain = yield* get(`/${path}`)
        assert.isUndefined(plain.headers["content-encoding"])
        const zipped = yield* get(`/${path}`, { "accept-encoding": "deflate, GZIP;q=0.8, br;q=0" })
        assert.strictEqual(zipped.headers["content-encoding"], "gzip")
        assert.deepStrictEqual(gunzipSync(zipped.body), plain.body)
        const small = yield* get(`/${path}`, { "accept-encoding": "gzip, deflate, br" })
        assert.strictEqual(small.headers["content-encoding"], "br")
        assert.deepStrictEqual(brotliDecompressSync(small.body), plain.body)
        assert.strictEqual(small.headers["vary"], "accept-encoding")
        total += small.body.length
      }
      assert.isBelow(total, 60_000)
    })
  )

  it.effect("is kept by caches as long as it stays the same", () =>
    Effect.gen(function* () {
      const page = yield* get("/docs")
      assert.strictEqual(page.headers["cache-control"], "no-cache")
      const unchanged = yield* get("/docs", { "if-none-match": `"other", W/${String(page.headers["etag"])}` })
      assert.deepStrictEqual([unchanged.status, unchanged.body.length], [304, 0])
      const changed = yield* get("/docs", { "if-none-match": '"other"' })
      assert.strictEqual(changed.status, 200)
      for (const address of addressesIn(page.body.toString()).filter((each) => each.includes("?v="))) {
        const file = yield* get(`/${address}`)
        assert.strictEqual(file.headers["cache-control"], "public, max-age=31536000, immutable")
        // Behind an old address there is a new file, which must not be kept under that address.
        const old = yield* get(`/${address.replace(/v=.*/, "v=0")}`)
        assert.deepStrictEqual([old.status, old.headers["cache-control"]], [200, "no-cache"])
      }
    })
  )

  it.effect("shows requests that the gateway answers", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const document: Json = JSON.parse((yield* gateway.request("GET", "/openapi.json")).text)
      const path = ["paths", "/v1/chat/completions", "post", "requestBody", "content", "application/json", "examples"]
      const examples = Object.entries(at(document, ...path) as Json)
      assert.isAbove(examples.length, 5)
      for (const [name, example] of examples) {
        const { headers, status, text } = yield* gateway.chat(at(example, "value"))
        assert.strictEqual(status, 200, `${name}: ${text}`)
        const isStream = at(example, "value", "stream") === true
        assert.include(headers.get("content-type"), isStream ? "text/event-stream" : "application/json")
      }
    })
  )
})
