/**
 * A request as a program in each language. Everything comes from the operation and the example, so that an operation
 * which joins the API gets its samples without further work. The programs read the gateway's address and the key from
 * the environment, as those in `examples/` do.
 */
import { javaScriptStyle, jsonStyle, literal, pythonStyle } from "./CodeLiteral.ts"
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from "./OpenApiShape.ts"
import { resolved } from "./OpenApiShape.ts"

export const languages = { curl: "curl", node: "Node", python: "Python" } as const
export type Language = keyof typeof languages

export interface SampleRequest {
  readonly method: string
  /** May have parameters, such as `{id}`. */
  readonly path: string
  readonly operation: OpenApiOperation
  /** `undefined` for a request without a body. */
  readonly body?: unknown
}

type Fields = Readonly<Record<string, unknown>>

/** Parameters that are sent in a sample: those in the path, and others that are required. */
const sentParameters = ({ operation }: SampleRequest, place: OpenApiParameter["in"]) =>
  operation.parameters.filter((parameter) => parameter.in === place && (place === "path" || parameter.required))

/** The example of a parameter, or its name as something to fill in. */
export const parameterExample = (parameter: OpenApiParameter): string =>
  String(Reflect.get(parameter, "example") ?? parameter.schema.enum?.[0] ?? `{${parameter.name}}`)

/** The path and query with examples for parameters. */
const addressOf = (request: SampleRequest): string => {
  const path = sentParameters(request, "path").reduce(
    (text, parameter) => text.replace(`{${parameter.name}}`, encodeURIComponent(parameterExample(parameter))),
    request.path
  )
  const query = sentParameters(request, "query").map(
    (parameter) => `${parameter.name}=${encodeURIComponent(parameterExample(parameter))}`
  )
  return query.length === 0 ? path : `${path}?${query.join("&")}`
}

const multipart = "multipart/form-data"

const contentTypeOf = ({ operation }: SampleRequest): string | undefined =>
  Object.keys(operation.requestBody?.content ?? {})[0]

/** The fields of a form that are files. */
export const fileFields = (document: OpenApiDocument, operation: OpenApiOperation): ReadonlySet<string> => {
  const schema = operation.requestBody?.content[multipart]?.schema
  const { properties = {} } = schema === undefined ? {} : resolved(document, schema)
  return new Set(Object.keys(properties).filter((name) => properties[name]?.format === "binary"))
}

const fieldsOf = (body: unknown): Fields => (typeof body === "object" && body !== null ? { ...body } : {})

/** The variable of the environment that has the key: each scheme has a key of its own. */
const keyVariable = ({ security }: OpenApiOperation): string | undefined => {
  const [scheme] = Object.keys(security[0] ?? {})
  if (scheme === undefined) return undefined
  return scheme === "bearer" ? "TOLLGATE_KEY" : `TOLLGATE_${scheme.toUpperCase()}_KEY`
}

const singleQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = (document: OpenApiDocument, request: SampleRequest): string => {
  const { body, method, operation } = request
  const files = fileFields(document, operation)
  const lines = [`curl "$TOLLGATE_URL${addressOf(request)}"`]
  if (method !== (body === undefined ? "get" : "post"))
    lines[0] = `curl -X ${method.toUpperCase()} ${lines[0]?.slice(5)}`
  const key = keyVariable(operation)
  if (key !== undefined) lines.push(`-H "Authorization: Bearer $${key}"`)
  for (const header of sentParameters(request, "header")) lines.push(`-H "${header.name}: ${parameterExample(header)}"`)
  if (contentTypeOf(request) === multipart) {
    for (const [name, value] of Object.entries(fieldsOf(body)))
      lines.push(`-F ${files.has(name) ? `${name}=@${String(value)}` : singleQuoted(`${name}=${String(value)}`)}`)
  } else if (body !== undefined) {
    lines.push('-H "Content-Type: application/json"', `-d ${singleQuoted(literal(body, jsonStyle, "  "))}`)
  }
  return lines.join(" \\\n  ")
}

const headersOf = (request: SampleRequest): Fields => ({
  ...(request.body !== undefined && contentTypeOf(request) !== multipart && { "Content-Type": "application/json" }),
  ...Object.fromEntries(sentParameters(request, "header").map((header) => [header.name, parameterExample(header)]))
})

/** The values of path parameters, which `openai` takes before the body. */
const pathArguments = (request: SampleRequest): ReadonlyArray<string> =>
  sentParameters(request, "path").map((parameter) => JSON.stringify(parameterExample(parameter)))

const isStreamed = (body: unknown): boolean => fieldsOf(body)["stream"] === true

const nodeOpenAi = (files: ReadonlySet<string>, request: SampleRequest, call: string): string => {
  const code = Object.entries(fieldsOf(request.body)).map(([name, value]) =>
    files.has(name)
      ? `  ${name}: createReadStream(${JSON.stringify(value)})`
      : `  ${javaScriptStyle.key(name)}: ${literal(value, javaScriptStyle, "  ")}`
  )
  const given = [...pathArguments(request), ...(request.body === undefined ? [] : [`{\n${code.join(",\n")}\n}`])]
  const name = isStreamed(request.body) ? "stream" : "answer"
  return [
    ...(files.size > 0 ? ['import { createReadStream } from "node:fs"'] : []),
    'import OpenAI from "openai"',
    "",
    "const client = new OpenAI({",
    "  baseURL: `${process.env.TOLLGATE_URL}/v1`,",
    "  apiKey: process.env.TOLLGATE_KEY",
    "})",
    "",
    `const ${name} = await client.${call}(${given.join(", ")})`,
    isStreamed(request.body) ? "for await (const event of stream) console.log(event)" : "console.log(answer)"
  ].join("\n")
}

const nodeFetch = (request: SampleRequest): string => {
  const { body, method, operation } = request
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `${javaScriptStyle.key(name)}: "${value}"`)
  const key = keyVariable(operation)
  if (key !== undefined) headers.unshift(`Authorization: \`Bearer \${process.env.${key}}\``)
  const options = [
    ...(method === "get" ? [] : [`method: "${method.toUpperCase()}"`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(", ")} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body, javaScriptStyle, "  ")})`])
  ]
  const given = options.length === 0 ? "" : `, {\n${options.map((option) => `  ${option}`).join(",\n")}\n}`
  return (
    `const response = await fetch(\`\${process.env.TOLLGATE_URL}${addressOf(request)}\`${given})\n` +
    (isStreamed(body)
      ? "for await (const piece of response.body.pipeThrough(new TextDecoderStream())) console.log(piece)"
      : "console.log(await response.json())")
  )
}

/**
 * Fields that the method of the `openai` package for Python does not know go into `extra_body`. The package for Node
 * sends whatever it is given.
 */
const beyondOpenAi: ReadonlySet<string> = new Set([
  "cache_control",
  "models",
  "provider",
  "reasoning",
  "session_id",
  "svc"
])

const pythonOpenAi = (files: ReadonlySet<string>, request: SampleRequest, call: string): string => {
  const fields = Object.entries(fieldsOf(request.body))
  const known = fields.filter(([name]) => !beyondOpenAi.has(name))
  const extra = Object.fromEntries(fields.filter(([name]) => beyondOpenAi.has(name)))
  const given = [
    ...pathArguments(request),
    ...known.map(([name, value]) =>
      files.has(name)
        ? `${name}=open(${JSON.stringify(value)}, "rb")`
        : `${name}=${literal(value, pythonStyle, "    ")}`
    ),
    ...(Object.keys(extra).length === 0 ? [] : [`extra_body=${literal(extra, pythonStyle, "    ")}`])
  ]
  const named = given.length > pathArguments(request).length
  const name = isStreamed(request.body) ? "stream" : "answer"
  return [
    "import os",
    "from openai import OpenAI",
    "",
    "client = OpenAI(",
    '    base_url=os.environ["TOLLGATE_URL"] + "/v1",',
    '    api_key=os.environ["TOLLGATE_KEY"],',
    ")",
    "",
    `${name} = client.${call}(${named ? `\n${given.map((each) => `    ${each},\n`).join("")}` : given.join(", ")})`,
    isStreamed(request.body) ? "for event in stream:\n    print(event)" : "print(answer)"
  ].join("\n")
}

const pythonRequests = (request: SampleRequest): string => {
  const { body, method, operation } = request
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `"${name}": "${String(value)}"`)
  const key = keyVariable(operation)
  if (key !== undefined) headers.unshift(`"Authorization": "Bearer " + os.environ["${key}"]`)
  const given = [
    `os.environ["TOLLGATE_URL"] + "${addressOf(request)}"`,
    ...(headers.length === 0 ? [] : [`headers={${headers.join(", ")}}`]),
    ...(body === undefined ? [] : [`json=${literal(body, pythonStyle, "    ")}`]),
    ...(isStreamed(body) ? ["stream=True"] : [])
  ]
  const printed = isStreamed(body)
    ? "for line in response.iter_lines(decode_unicode=True):\n    print(line)"
    : "print(response.json())"
  const call = `requests.${method}(\n${given.map((each) => `    ${each},\n`).join("")})`
  return ["import os", "import requests", "", `response = ${call}`, printed].join("\n")
}

/** The same request in every language. */
export const samplesOf = (document: OpenApiDocument, request: SampleRequest): { readonly [L in Language]: string } => {
  const call = request.operation["x-openai-method"]
  const files = fileFields(document, request.operation)
  return {
    curl: curl(document, request),
    node: call === undefined ? nodeFetch(request) : nodeOpenAi(files, request, call),
    python: call === undefined ? pythonRequests(request) : pythonOpenAi(files, request, call)
  }
}
