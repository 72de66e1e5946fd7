/** The router serves a path in several spellings, and everything beside it has to know them too. */
import { assert, describe, it } from "@effect/vitest"
import { Headers, type HttpServerRequest } from "effect/http"

import { methodsOf, noSuchRoute, routeOf } from "../../../src/http/edge/UnknownRoutes.ts"
import { expectsMessageErrors } from "../../../src/http/messages/MessageErrors.ts"

const spellings = (path: string): ReadonlyArray<string> => [path, path.toUpperCase(), `/${path}`, `${path}/`]

describe("A path", () => {
  for (const [path, route] of [
    ["/v1/chat/completions", "/v1/chat/completions"],
    ["/v1/messages/count_tokens", "/v1/messages/count_tokens"],
    ["/v1/models/gpt-5-mini", "/v1/models/:id"],
    ["/openapi.json", "/openapi.json"]
  ] as const)
    it(`${path} has its route and methods in every spelling`, () => {
      for (const spelling of spellings(path)) {
        assert.strictEqual(routeOf(spelling), route, spelling)
        assert.isNotEmpty(methodsOf(spelling), spelling)
      }
    })

  it("has no route for being like one", () => {
    for (const path of ["/", "/v1", "/v1/models/a/b", "/v1/chatcompletions", "/openapi-json"])
      assert.isUndefined(routeOf(path), path)
    assert.match(noSuchRoute("/v1/v1/models"), /GET \/v1\/models/)
  })

  it("of the Messages API is known by its errors in every spelling", () => {
    const at = (url: string) => ({ url, headers: Headers.empty }) as HttpServerRequest.HttpServerRequest
    for (const path of [...spellings("/v1/messages"), "//v1//messages/count_tokens?beta=true"])
      assert.isTrue(expectsMessageErrors(at(path)), path)
    for (const path of ["/v1/messagesx", "/x/v1/messages", "/v1/chat/completions"])
      assert.isFalse(expectsMessageErrors(at(path)), path)
  })
})
