/** The OpenAPI document: other programs can read it, and what it shows is true of every operation. */
import { assert, describe, it } from "@effect/vitest"
import { Validator } from "@seriousme/openapi-schema-validator"
import { OpenApi } from "effect/http-api"
import * as z from "zod"

import { WholeApi } from "../../../src/api/WholeApi.ts"
import type { OpenApiDocument, OpenApiMedia } from "../../../src/http/reference/OpenApiShape.ts"
import { operationsIn } from "../../../src/http/reference/OperationView.ts"
import { publishedApi } from "../../../src/http/reference/PublishedApi.ts"
import { unwrapped } from "../../conformance/PublishedDocument.ts"
import { at, type Json } from "../../support/Chat.ts"

const document = publishedApi("svc")
const operations = operationsIn(document)

interface Body {
  readonly place: string
  /** Where its schema is in the document. */
  readonly path: ReadonlyArray<string>
  readonly media: OpenApiMedia
}

/** Every body that a client or the gateway sends. */
const bodies: ReadonlyArray<Body> = operations.flatMap(({ method, operation, path }) => {
  const contents = [
    { path: ["requestBody"], content: operation.requestBody?.content },
    ...Object.entries(operation.responses).map(([status, { content }]) => ({ path: ["responses", status], content }))
  ]
  return contents.flatMap(({ content = {}, path: place }) =>
    Object.entries(content).map(([type, media]) => ({
      place: `${operation.operationId} ${place.join(" ")} ${type}`,
      path: ["paths", path, method, ...place, "content", type, "schema"],
      media
    }))
  )
})

/** The document with closed objects, so that a member which is not declared is found. */
const strict = unwrapped(
  JSON.parse(JSON.stringify(OpenApi.fromApi(WholeApi)).replaceAll("#/components/schemas/", "#/$defs/"))
)

const faultIn = (path: ReadonlyArray<string>, value: unknown): string | undefined => {
  const $defs = at(strict, "components", "schemas") as Json
  const schema = z.fromJSONSchema({ ...(at(strict, ...path) as Json), $defs } as z.core.JSONSchema.JSONSchema)
  const { error } = schema.safeParse(value)
  return error && z.prettifyError(error)
}

/** An example as the schema means it: the data of an event is parsed. */
const parsedExample = (value: unknown): unknown =>
  typeof at(value, "data") === "string" ? { ...(value as Json), data: JSON.parse(String(at(value, "data"))) } : value

const headersOf = (id: string, status: string): ReadonlyArray<string> =>
  Object.keys(
    operations.find(({ operation }) => operation.operationId === id)?.operation.responses[status]?.headers ?? {}
  )

describe("The OpenAPI document", () => {
  it("is valid", async () => {
    const { errors, valid } = await new Validator().validate({ ...document })
    assert.deepStrictEqual([errors, valid], [undefined, true])
  })

  it("says of every operation what it does and where it belongs", () => {
    assert.isAbove(operations.length, 4)
    const tags = document.tags.map(({ name }) => name)
    for (const { operation } of operations) {
      assert.isNotEmpty(operation.summary, operation.operationId)
      assert.includeMembers(tags, [...operation.tags])
    }
  })

  it("has an example of every body, and of every parameter that must be sent", () => {
    const without = bodies.filter(({ media }) => Object.keys(media.examples ?? {}).length === 0)
    assert.deepStrictEqual(
      without.map(({ place }) => place),
      []
    )
    const parameters = operations.flatMap(({ operation }) => operation.parameters)
    assert.deepStrictEqual(
      parameters.filter((parameter) => parameter.required === true && !("example" in parameter)),
      []
    )
  })

  it("has examples that conform to their schemas, and have no member that is not declared", () => {
    const faults = bodies.flatMap(({ media, path, place }) =>
      Object.entries(media.examples ?? {}).flatMap(([name, { value }]) => {
        const fault = faultIn(path, parsedExample(value))
        return fault === undefined ? [] : [`${place} ${name}: ${fault}`]
      })
    )
    assert.deepStrictEqual(faults, [])
  })

  it("has examples that are checked: a wrong one is found", () => {
    const body = bodies.find(({ place }) => place === "chat.completions requestBody application/json")
    assert.isDefined(body && faultIn(body.path, { messages: [], temperature: 3 }))
    assert.isDefined(body && faultIn(body.path, { messages: [{ role: "user", content: "Hello" }], tempreature: 1 }))
  })

  it("shows no value that says nothing", () => {
    const text = JSON.stringify(document)
    assert.notInclude(text, String(Number.MAX_SAFE_INTEGER))
    assert.notInclude(text, "x-effect-stream")
    assert.notInclude(text, '"model":""')
    // What a client would send keeps its rules, also those that the document's own schemas go without.
    const format = at(document, "paths", "/v1/chat/completions", "post", "requestBody", "content", "application/json")
    assert.isFalse(
      at(format, "examples", "json", "value", "response_format", "json_schema", "schema", "additionalProperties")
    )
  })

  it("has the headers of every response", () => {
    for (const { operation } of operations) {
      for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
        assert.include(Object.keys(headers), "x-request-id", `${operation.operationId} ${status}`)
        assert.strictEqual("retry-after" in headers, status === "429", `${operation.operationId} ${status}`)
        const isLimited = "429" in operation.responses && status !== "401"
        assert.strictEqual("x-ratelimit-limit-requests" in headers, isLimited, `${operation.operationId} ${status}`)
      }
    }
    assert.includeMembers([...headersOf("chat.completions", "200")], ["x-svc-adjusted", "idempotent-replayed"])
    assert.include(headersOf("audio.transcriptions", "200"), "idempotent-replayed")
    assert.notInclude(headersOf("models.list", "200"), "idempotent-replayed")
  })

  it("has the operator's name wherever the contract's stands, also within events and headers", () => {
    const named: OpenApiDocument = publishedApi("acme")
    assert.notMatch(JSON.stringify(named), /\bsvc\b/)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(named).replaceAll(/\bacme\b/g, "svc")), document)
  })
})
