/**
 * What the published document says about an operation beside its schemas: examples of requests and answers, headers of
 * the answer, and how OpenAI's libraries call it. An example is checked against the schema it stands for by a test.
 */
import { OpenApi } from "effect/http-api"

import type { ErrorCode } from "./ErrorTable.ts"

/** One request or answer, with a line that says what it shows. */
export interface DocumentedExample {
  readonly summary: string
  readonly value: unknown
}

export type DocumentedExamples = { readonly [name: string]: DocumentedExample }

export interface OperationDocs {
  readonly summary: string
  /** Markdown. */
  readonly description: string
  /** Bodies of requests. The first one is what a reader sees first. */
  readonly requests?: DocumentedExamples
  /** Answers with status 200, by content type. Those of `text/event-stream` are single events, in order. */
  readonly answers: { readonly [contentType: string]: DocumentedExamples }
  /** Error messages that fit this operation better than the general ones. */
  readonly errors?: { readonly [Code in ErrorCode]?: string }
  /** Headers of an answer with status 200, beside those that every answer has, each with what it means. */
  readonly headers?: { readonly [name: string]: string }
  /** The last `data:` line of a stream, after its events. `[DONE]` by default; null where there is none. */
  readonly streamEnd?: string | null
  /** Whether errors have Anthropic's shape. */
  readonly isMessages?: boolean
  /** The method of the `openai` packages that makes this call, such as `models.list`. */
  readonly openaiMethod?: string
}

type JsonTree = Record<string, unknown>
type Content = { [contentType: string]: JsonTree }

/** The member `openaiMethod` under the name that an extension of an OpenAPI document must have. */
export const openaiMethodKey = "x-openai-method"
/** Error messages for this operation, by code. They are made into examples, and are not published themselves. */
export const errorMessagesKey = "x-error-messages"
/** The schema of our errors, beside that of errors in Anthropic's shape which have their codes. It is not published. */
export const ownErrorsKey = "x-own-errors"
/** The last `data:` line of a stream of events. */
export const streamEndKey = "x-stream-end"

const withExamples = (
  content: Content | undefined,
  examples: { readonly [type: string]: DocumentedExamples },
  streamEnd: string | null = "[DONE]"
) =>
  Object.fromEntries(
    Object.entries(content ?? {}).map(([type, media]) => [
      type,
      {
        ...media,
        ...(examples[type] && { examples: examples[type] }),
        ...(type === "text/event-stream" && streamEnd !== null && { [streamEndKey]: streamEnd })
      }
    ])
  )

interface Answered {
  readonly content?: Content
}

const messageError = { $ref: "#/components/schemas/MessageError" }

/** The responses with the schema of errors in Anthropic's shape. */
const withMessageErrors = (responses: { readonly [status: string]: Answered }) =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      {
        ...response,
        content: Object.fromEntries(
          Object.entries(response.content ?? {}).map(([type, { schema, ...media }]) => [
            type,
            { ...media, schema: messageError, [ownErrorsKey]: schema }
          ])
        )
      }
    ])
  )

const describedHeaders = (headers: { readonly [name: string]: string }): JsonTree =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }])
  )

/** Annotations for an endpoint. */
export const documented = (docs: OperationDocs) =>
  OpenApi.annotations({
    summary: docs.summary,
    description: docs.description,
    transform: (operation) => {
      const { requestBody, responses, ...rest } = operation
      const { 200: success, ...others } = responses
      const bodyTypes = Object.keys(requestBody?.content ?? {})
      const requests = Object.fromEntries(bodyTypes.map((type) => [type, docs.requests ?? {}]))
      return {
        ...rest,
        ...(docs.openaiMethod !== undefined && { [openaiMethodKey]: docs.openaiMethod }),
        ...(docs.errors !== undefined && { [errorMessagesKey]: docs.errors }),
        ...(requestBody && { requestBody: { ...requestBody, content: withExamples(requestBody.content, requests) } }),
        responses: {
          200: {
            ...success,
            ...(docs.headers && { headers: describedHeaders(docs.headers) }),
            content: withExamples(success.content, docs.answers, docs.streamEnd)
          },
          ...(docs.isMessages === true ? withMessageErrors(others) : others)
        }
      }
    }
  })
