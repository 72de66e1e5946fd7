/** The form that sends an operation's request from the page. It stays hidden where the page's script does not run. */
import { jsonStyle, literal } from "./CodeLiteral.ts"
import { fileFields, parameterExample } from "./CodeSamples.ts"
import { html, type Markup } from "./Markup.ts"
import { type OpenApiDocument, type OpenApiOperation, type OpenApiParameter, resolved } from "./OpenApiShape.ts"

const parameterField = (id: string, parameter: OpenApiParameter): Markup =>
  html`<label for="${id}-${parameter.name}">${parameter.name}</label>
    <input
      id="${id}-${parameter.name}"
      name="${parameter.name}"
      data-in="${parameter.in}"
      autocomplete="off"
      spellcheck="false"
      ${parameter.in === "path" && html`required value="${parameterExample(parameter)}"`}
    />`

/** The fields of a form, or a text area for a body in JSON. */
const bodyFields = (document: OpenApiDocument, id: string, { requestBody, ...rest }: OpenApiOperation) => {
  const [found] = Object.entries(requestBody?.content ?? {})
  if (found === undefined) return undefined
  const [type, media] = found
  const example = Object.values(media.examples ?? {})[0]?.value
  if (type !== "multipart/form-data") {
    const text = example === undefined ? "{}" : literal(example, jsonStyle)
    const rows = Math.min(16, text.split("\n").length + 1)
    return html`<label for="${id}-body">Body</label>
      <textarea id="${id}-body" data-in="body" rows="${rows}" spellcheck="false">${text}</textarea>`
  }
  const files = fileFields(document, { requestBody: requestBody ?? { content: {} }, ...rest })
  const { properties = {}, required = [] } = media.schema === undefined ? {} : resolved(document, media.schema)
  return Object.keys(properties).map((name) => {
    const value = Reflect.get(Object(example), name)
    return html`<label for="${id}-${name}">${name}</label>
      <input
        id="${id}-${name}"
        name="${name}"
        data-in="form"
        autocomplete="off"
        ${required.includes(name) && html`required`}
        ${files.has(name) ? html`type="file"` : html`value="${value === undefined ? "" : String(value)}"`}
      />`
  })
}

/** A form whose data attributes say to the script what to send. */
export const tryForm = (
  document: OpenApiDocument,
  { method, operation, path }: { readonly method: string; readonly path: string; readonly operation: OpenApiOperation }
): Markup => {
  const id = `try-${operation.operationId}`
  const [scheme] = Object.keys(operation.security[0] ?? {})
  return html`<details class="card try" hidden>
    <summary class="bar"><span class="title">Try it</span></summary>
    <form data-method="${method.toUpperCase()}" data-path="${path}">
      ${
        scheme !== undefined &&
        html`<label for="${id}-key">Key</label>
          <input
            id="${id}-key"
            class="key"
            data-in="key"
            data-scheme="${scheme}"
            type="password"
            autocomplete="off"
            required
          />
          <p class="muted">
            ${document.components.securitySchemes[scheme]?.description} It stays in this page and is gone when the page
            is closed. What is sent takes effect: requests are charged.
          </p>`
      }
      ${operation.parameters.map((parameter) => parameterField(id, parameter))} ${bodyFields(document, id, operation)}
      <button type="submit">Send</button>
      <pre class="result" role="status" tabindex="0" aria-label="The response" hidden></pre>
    </form>
  </details>`
}
