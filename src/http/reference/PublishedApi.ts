/**
 * The OpenAPI document as it is published. What holds for every operation is added here, from the table of errors and
 * the rules of the edge, so that an operation which joins the API is documented without further work.
 */
import { STATUS_CODES } from "node:http"

import { OpenApi } from "effect/http-api"

import { errorMeanings, type ErrorCode } from "../../api/ErrorTable.ts"
import { errorMessages } from "../../api/examples/ErrorExamples.ts"
import { errorMessagesKey, ownErrorsKey } from "../../api/OperationDocs.ts"
import { WholeApi } from "../../api/WholeApi.ts"
import { requestId } from "../../domain/Ids.ts"
import { messageErrorBody } from "../messages/MessageErrors.ts"
import { exampleOfSchema } from "./DerivedExample.ts"
import {
  type JsonSchema,
  type OpenApiDocument,
  type OpenApiExample,
  type OpenApiHeader,
  type OpenApiMedia,
  type OpenApiOperation,
  type OpenApiParameter,
  type OpenApiResponse,
  resolved
} from "./OpenApiShape.ts"

/** Headers of responses, by name. `docs/errors.md` has the same list. */
const headerMeanings = {
  "x-request-id": "The id of the request, under which `/v1/generations/{id}` has its receipt.",
  "retry-after": "Seconds to wait before the next try.",
  "x-ratelimit-limit-requests": "How many requests a minute the key may make.",
  "x-ratelimit-remaining-requests": "How many requests the key may make now.",
  "x-ratelimit-reset-requests": "How long until the whole limit is available, such as `6s`.",
  "x-ratelimit-limit-tokens": "How many tokens a minute may be used. Only where tokens are limited.",
  "x-ratelimit-remaining-tokens": "How many tokens may be used now.",
  "x-ratelimit-reset-tokens": "How long until the whole limit is available, such as `6s`.",
  "idempotent-replayed": "`true` on the recorded answer of an earlier request with the same `Idempotency-Key`."
} as const
type HeaderName = keyof typeof headerMeanings

const headerReference = (name: HeaderName): [string, OpenApiHeader] => [name, { $ref: `#/components/headers/${name}` }]

const rateLimitHeaders = (["requests", "tokens"] as const).flatMap((resource) =>
  (["limit", "remaining", "reset"] as const).map((what) => `x-ratelimit-${what}-${resource}` as const)
)

/** The headers that the edge adds to a response with this status. */
const edgeHeaders = (operation: OpenApiOperation, status: string): ReadonlyArray<HeaderName> => {
  // A request without a valid key has no limit yet.
  const limited = "429" in operation.responses && status !== "401"
  const repeatable = operation.parameters.some(({ name }) => name === "idempotency-key")
  return [
    "x-request-id",
    ...(limited ? rateLimitHeaders : []),
    ...(status === "429" ? (["retry-after"] as const) : []),
    ...(repeatable && status === "200" ? (["idempotent-replayed"] as const) : [])
  ]
}

type ErrorMessages = { readonly [Code in ErrorCode]?: string }

const isErrorCode = (code: unknown): code is ErrorCode => typeof code === "string" && Object.hasOwn(errorMeanings, code)

/** The codes that the body of an error may have. */
const codesIn = (document: OpenApiDocument, schema: JsonSchema): ReadonlyArray<ErrorCode> => {
  const { anyOf, properties } = resolved(document, schema)
  const codes = properties?.["error"]?.properties?.["code"]?.enum ?? []
  return [...codes.filter(isErrorCode), ...(anyOf ?? []).flatMap((member) => codesIn(document, member))]
}

const errorExamples = (codes: ReadonlyArray<ErrorCode>, messages: ErrorMessages, isMessages: boolean) =>
  Object.fromEntries(
    codes.map((code): [string, OpenApiExample] => {
      const error = { code, message: messages[code] ?? errorMessages[code] }
      return [
        code,
        { summary: errorMeanings[code], value: isMessages ? messageErrorBody(error, exampleId) : { error } }
      ]
    })
  )

const exampleId = requestId("01a203b4-b71a-76fe-9c67-e2d507f95a68")

/** The schema of an error with one of these codes, in Anthropic's shape. */
const messageErrorSchema = (codes: ReadonlyArray<ErrorCode>): JsonSchema => ({
  allOf: [
    { $ref: "#/components/schemas/MessageError" },
    { type: "object", properties: { error: { type: "object", properties: { code: { type: "string", enum: codes } } } } }
  ]
})

/** The examples of a body, or one that is made from its schema. */
const madeExamples = (document: OpenApiDocument, { examples, schema = {} }: OpenApiMedia) =>
  examples ?? { example: { summary: "An example", value: exampleOfSchema(document, schema, "value") } }

const publishedResponse = (
  document: OpenApiDocument,
  operation: OpenApiOperation,
  [status, response]: [string, OpenApiResponse]
): [string, OpenApiResponse] => {
  const messages = (Reflect.get(operation, errorMessagesKey) ?? {}) as ErrorMessages
  const content = Object.entries(response.content ?? {}).map(([type, media]) => {
    const { [ownErrorsKey]: own, ...published } = media
    const schema = own ?? media.schema
    const codes = schema === undefined ? [] : codesIn(document, schema)
    const examples =
      codes.length === 0 ? madeExamples(document, media) : errorExamples(codes, messages, own !== undefined)
    return [type, { ...published, ...(own && { schema: messageErrorSchema(codes) }), examples }] as const
  })
  const headers = Object.fromEntries(edgeHeaders(operation, status).map(headerReference))
  return [
    status,
    {
      ...response,
      // The generator would name the classes that make the answer.
      description: STATUS_CODES[status] ?? response.description,
      headers: { ...response.headers, ...headers },
      ...(response.content && { content: Object.fromEntries(content) })
    }
  ]
}

/** Readers show the description and the example of a parameter, not those of its schema. */
const publishedParameter =
  (document: OpenApiDocument) =>
  ({ schema, ...parameter }: OpenApiParameter) => {
    const { description, examples, ...bare } = schema
    const example =
      examples?.[0] ?? (parameter.required ? exampleOfSchema(document, schema, parameter.name) : undefined)
    return {
      ...parameter,
      ...(description && { description }),
      ...(example !== undefined && { example }),
      schema: bare
    }
  }

const publishedBody = (
  document: OpenApiDocument,
  { content, ...body }: NonNullable<OpenApiOperation["requestBody"]>
) => ({
  ...body,
  content: Object.fromEntries(
    Object.entries(content).map(([type, media]) => [type, { ...media, examples: madeExamples(document, media) }])
  )
})

const publishedOperation = (document: OpenApiDocument, operation: OpenApiOperation) => ({
  ...Object.fromEntries(Object.entries(operation).filter(([key]) => key !== errorMessagesKey)),
  ...(operation.requestBody && { requestBody: publishedBody(document, operation.requestBody) }),
  parameters: operation.parameters.map(publishedParameter(document)),
  responses: Object.fromEntries(
    Object.entries(operation.responses).map((response) => publishedResponse(document, operation, response))
  )
})

/** What the generator adds for its own clients, and what says nothing: a limit that is that of the number type. */
const isNoise = (key: string, value: unknown): boolean =>
  key === "x-effect-stream" ||
  (key === "additionalProperties" && value === false) ||
  (key === "maximum" && value === Number.MAX_SAFE_INTEGER) ||
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER)

/** Examples hold values of clients, in which nothing is noise. */
const withoutNoise = (part: unknown): unknown => {
  if (Array.isArray(part)) return part.map(withoutNoise)
  if (typeof part !== "object" || part === null) return part
  return Object.fromEntries(
    Object.entries(part)
      .filter(([key, value]) => !isNoise(key, value))
      .map(([key, value]) => [key, key === "examples" || key === "example" ? value : withoutNoise(value)])
  )
}

/** Schemas of what is sent are named after the types that describe it, unless that name is taken. */
const shorterNames = (text: string, names: ReadonlyArray<string>): string =>
  names
    .filter((name) => name.endsWith("Encoded") && !names.includes(name.replace(/Encoded$/, "")))
    .reduce(
      (renamed, name) =>
        renamed
          .replaceAll(`/${name}"`, `/${name.replace(/Encoded$/, "")}"`)
          .replaceAll(`"${name}":`, `"${name.replace(/Encoded$/, "")}":`),
      text
    )

/**
 * The document with the operator's own name where the contract says `svc`, and without the rule that objects have no
 * further members, because requests may carry unknown members and answers may gain new ones.
 */
export const publishedApi = (serviceName: string): OpenApiDocument => {
  // The generator's own type knows neither examples nor headers.
  const document = OpenApi.fromApi(WholeApi) as unknown as OpenApiDocument
  const paths = Object.entries(document.paths).map(([path, operations]) => [
    path,
    Object.fromEntries(
      Object.entries(operations).map(([method, operation]) => [method, publishedOperation(document, operation)])
    )
  ])
  const headers = Object.fromEntries(
    Object.entries(headerMeanings).map(([name, description]) => [name, { description, schema: { type: "string" } }])
  )
  const whole = {
    ...document,
    paths: Object.fromEntries(paths),
    components: { ...document.components, headers }
  }
  const text = JSON.stringify(withoutNoise(whole))
    // RFC 7235 compares schemes without regard to case, but readers of such documents know only the lower case.
    .replaceAll('"scheme":"Bearer"', '"scheme":"bearer"')
    // The name is a word of letters, digits and underscores, so it needs no escape.
    .replaceAll(/\bsvc\b/g, serviceName)
  return JSON.parse(shorterNames(text, Object.keys(document.components.schemas))) as OpenApiDocument
}
