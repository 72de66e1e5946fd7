/** What readers of `/openapi.json` and `/docs` rely on. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { at, type Json } from "../support/Chat.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"

const headersOf = (document: Json, path: string): ReadonlyArray<unknown> =>
  (at(document, "paths", path, "post", "parameters") as ReadonlyArray<Json>).map(({ name }) => name)

describeGateway("The API reference", (it) => {
  it.effect("names the scheme of the key, the server and the headers", () =>
    Effect.gen(function* () {
      const reply = yield* (yield* TestGateway).request("GET", "/openapi.json")
      const document: Json = JSON.parse(reply.text)
      const scheme = at(document, "components", "securitySchemes", "bearer")
      assert.deepInclude(scheme, { type: "http", scheme: "bearer" })
      assert.deepStrictEqual(at(document, "servers", 0, "url"), "/")
      assert.includeMembers([...headersOf(document, "/v1/chat/completions")], ["idempotency-key", "x-session-id"])
      assert.include(headersOf(document, "/v1/audio/transcriptions"), "idempotency-key")
    })
  )

  it.effect("is a page that loads nothing from another host", () =>
    Effect.gen(function* () {
      const { status, text } = yield* (yield* TestGateway).request("GET", "/docs")
      assert.strictEqual(status, 200)
      assert.notMatch(text, /<(?:script|link|img)[^>]+(?:src|href)="https?:/)
      assert.match(text, /withDefaultFonts(?:&quot;|"|\\")?:\s*false/)
    })
  )
})
