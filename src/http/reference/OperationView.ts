/** One operation of the reference: on the left what it takes and gives, on the right samples and answers. */
import { coloured } from "./CodeColours.ts"
import { jsonStyle, literal } from "./CodeLiteral.ts"
import { type Language, languages, samplesOf } from "./CodeSamples.ts"
import { inlineMarkdown, markdown } from "./Markdown.ts"
import { html, type Markup } from "./Markup.ts"
import {
  type OpenApiDocument,
  type OpenApiMedia,
  type OpenApiOperation,
  type OpenApiParameter,
  resolved
} from "./OpenApiShape.ts"
import { attributeList, schemaAttributes } from "./SchemaAttributes.ts"
import { tryForm } from "./TryForm.ts"

/** An operation with its place in the document. */
export interface PlacedOperation {
  readonly method: string
  readonly path: string
  readonly operation: OpenApiOperation
}

/** All operations, in the order of the document. */
export const operationsIn = (document: OpenApiDocument): ReadonlyArray<PlacedOperation> =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation }))
  )

export const titleOf = ({ method, operation, path }: PlacedOperation): string =>
  operation.summary ?? `${method.toUpperCase()} ${path}`

export const methodLabel = (method: string): Markup =>
  html`<span class="method ${method}">${method === "delete" ? "DEL" : method.toUpperCase()}</span>`

const places = { path: "Path parameters", query: "Query parameters", header: "Headers", cookie: "Cookies" } as const

const parameterSection = (document: OpenApiDocument, placed: PlacedOperation, place: OpenApiParameter["in"]) => {
  const found = placed.operation.parameters.filter((parameter) => parameter.in === place)
  return (
    found.length > 0 &&
    html`<h4>${places[place]}</h4>
      ${attributeList(
        document,
        found.map(({ description, name, required, schema }) => ({
          name,
          schema,
          isRequired: required ?? false,
          description
        }))
      )}`
  )
}

const bodySection = (document: OpenApiDocument, { requestBody }: OpenApiOperation) =>
  Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) =>
      html`<h4>Body <span class="media">${type}</span></h4>
        ${schema !== undefined && schemaAttributes(document, schema)}`
  )

const isSuccess = (status: string): boolean => status.startsWith("2")

const isStream = (type: string): boolean => type === "text/event-stream"

/** Of an event only the data is shown: the rest is how such streams are written. */
const answerSchema = (document: OpenApiDocument, type: string, { schema }: OpenApiMedia) =>
  schema && (isStream(type) ? (resolved(document, schema).properties?.["data"] ?? schema) : schema)

const answerSection = (document: OpenApiDocument, { responses }: OpenApiOperation) =>
  Object.entries(responses)
    .filter(([status]) => isSuccess(status))
    .map(([status, { content = {}, headers = {} }]) => {
      const bodies = Object.entries(content).map(([type, media]) => {
        const schema = answerSchema(document, type, media)
        const what = isStream(type) ? "each event" : "the body"
        return html`<details class="fold">
          <summary>${type}<span class="muted">, ${what}</span></summary>
          ${schema !== undefined && schemaAttributes(document, schema)}
        </details>`
      })
      const named = Object.entries(headers).map(([name, header]) => {
        const { description, schema = {} } = resolved(document, header)
        return { name, schema, isRequired: false, description }
      })
      return html`<h4>Answer <span class="media">${status}</span></h4>
        ${bodies}
        ${
          named.length > 0 &&
          html`<details class="fold">
            <summary>Headers<span class="muted">, ${named.length}</span></summary>
            ${attributeList(document, named)}
          </details>`
        }`
    })

/** The examples of all errors of an operation, with their status. */
const errorsOf = ({ responses }: OpenApiOperation) =>
  Object.entries(responses)
    .filter(([status]) => !isSuccess(status))
    .flatMap(([status, { content = {} }]) =>
      Object.values(content).flatMap(({ examples = {} }) =>
        Object.entries(examples).map(([code, example]) => ({ status, code, example }))
      )
    )

const errorSection = (operation: OpenApiOperation) => {
  const errors = errorsOf(operation)
  return (
    errors.length > 0 &&
    html`<h4>Errors</h4>
      <details class="fold">
        <summary>${errors.length} codes</summary>
        <ul class="attributes">
          ${errors.map(
            ({ code, example, status }) =>
              html`<li>
                <div class="attribute"><span class="status bad">${status}</span> <code class="name">${code}</code></div>
                <p>${inlineMarkdown(example.summary ?? "")}</p>
              </li>`
          )}
        </ul>
      </details>`
  )
}

const codeBlock = (code: string, label: string, language?: Language): Markup =>
  html`<pre
    tabindex="0"
    aria-label="${label}"
    ${language !== undefined && html`data-language="${language}"`}
  ><code>${coloured(code)}</code></pre>`

const requestCard = (document: OpenApiDocument, placed: PlacedOperation): Markup => {
  const { method, operation, path } = placed
  const [media] = Object.values(operation.requestBody?.content ?? {})
  const given = Object.values(media?.examples ?? {})
  const examples = given.length > 0 ? given : [{ summary: titleOf(placed), value: undefined }]
  const tabs = Object.entries(languages).map(
    ([language, label], index) =>
      html`<label
        ><input
          type="radio"
          name="language-${operation.operationId}"
          value="${language}"
          ${index === 0 && html`checked`}
        /><span>${label}</span></label
      >`
  )
  const bodies = examples.map(({ summary = "Example", value }, index) => {
    const samples = Object.entries(samplesOf(document, { method, path, operation, body: value }))
    const codes = samples.map(([language, code]) => codeBlock(code, `${summary}: ${language}`, language as Language))
    return examples.length === 1
      ? html`${codes}`
      : html`<details name="request-${operation.operationId}" ${index === 0 && html`open`}>
          <summary>${summary}</summary>
          ${codes}
        </details>`
  })
  return html`<div class="card request">
    <div class="bar">
      <span class="title">Request</span>
      <fieldset class="tabs">
        <legend class="hidden">Language</legend>
        ${tabs}
      </fieldset>
    </div>
    ${bodies}
  </div>`
}

/** The text of an answer as it comes over the wire, but for the white space in JSON. */
const answerText = (type: string, value: unknown): string =>
  typeof value === "string" && !type.includes("json") ? value : literal(value, jsonStyle)

const streamText = (media: OpenApiMedia): string => {
  const events = Object.values(media.examples ?? {}).map(({ value }) => Reflect.get(Object(value), "data"))
  return [...events, media["x-stream-end"]]
    .flatMap((data) => (data === undefined ? [] : [`data: ${data}`]))
    .join("\n\n")
}

const answers = (status: string, type: string, media: OpenApiMedia) =>
  isStream(type)
    ? [{ status, type, summary: "A stream", code: streamText(media) }]
    : Object.values(media.examples ?? {}).map(({ summary = "Example", value }) => ({
        status,
        type,
        summary,
        code: answerText(type, value)
      }))

const responseCard = ({ operation }: PlacedOperation): Markup => {
  const all = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).flatMap(([type, media]) => answers(status, type, media))
  )
  return html`<div class="card response">
    <div class="bar"><span class="title">Response</span></div>
    ${all.map(
      ({ code, status, summary, type }, index) =>
        html`<details name="response-${operation.operationId}" ${index === 0 && html`open`}>
          <summary>
            <span class="status ${isSuccess(status) ? "good" : "bad"}">${status}</span>
            ${isSuccess(status) ? inlineMarkdown(summary) : html`<code>${codeIn(code)}</code>`}
            ${isSuccess(status) && html`<span class="media">${type}</span>`}
          </summary>
          ${codeBlock(code, `Response ${status}: ${summary}`)}
        </details>`
    )}
  </div>`
}

/** The code in the body of an error, as its title. */
const codeIn = (body: string): string => /"code": "([^"]*)"/.exec(body)?.[1] ?? "error"

export const operationView = (document: OpenApiDocument, placed: PlacedOperation): Markup => {
  const { method, operation, path } = placed
  return html`<section class="operation" id="${operation.operationId}" aria-labelledby="${operation.operationId}-title">
    <div class="text">
      <h3 id="${operation.operationId}-title"><a href="#${operation.operationId}">${titleOf(placed)}</a></h3>
      <p class="route">${methodLabel(method)} <code>${path}</code></p>
      ${operation.deprecated === true && html`<p class="deprecated">Deprecated.</p>`}
      ${operation.description !== undefined && markdown(operation.description)}
      ${parameterSection(document, placed, "path")} ${parameterSection(document, placed, "query")}
      ${bodySection(document, operation)} ${parameterSection(document, placed, "header")}
      ${parameterSection(document, placed, "cookie")} ${answerSection(document, operation)} ${errorSection(operation)}
    </div>
    <div class="samples">${requestCard(document, placed)} ${responseCard(placed)} ${tryForm(document, placed)}</div>
  </section>`
}
