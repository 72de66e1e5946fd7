/**
 * The tables in the documents whose content the code declares. A Markdown file says where such a table belongs with the
 * comments `<!-- NAME:start -->` and `<!-- NAME:end -->`; `GeneratedTables.test.ts` compares what is between them with
 * what the code declares, and writes it when `UPDATE_DOCS` is set. Every table must be in some document, in whichever
 * it may be.
 */
import { Result } from "effect"

import { errorMeanings, errorTable } from "../../src/api/ErrorTable.ts"
import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { chatProtocolNames } from "../../src/catalog/Model.ts"
import type { Provider } from "../../src/catalog/Provider.ts"
import { variables } from "../../src/Config.ts"
import { audioBytesPerSecond } from "../../src/domain/AudioLength.ts"
import { audioExtensions } from "../../src/domain/Transcription.ts"
import { type MetricDefinition, metricTable } from "../../src/observability/MetricTable.ts"
import { protocols } from "../../src/providers/protocols/Protocols.ts"
import { directives } from "../../src/sandbox/Directives.ts"
import { choiceRows, dataPolicyRows } from "./ChoiceTables.ts"
import type { Text } from "./PublishedText.ts"

const code = (text: string): string => `\`${text}\``

/** A Markdown table. */
const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

/** The directives of the sandbox, as a user writes them into a message. */
const directiveTable = (): string =>
  table(
    ["in the message", "effect"],
    directives.map(({ effect, forms }) => [forms.map(code).join(" "), effect])
  )

/** What each protocol does with each field of a request. */
const protocolTable = (): string => {
  const all = chatProtocolNames.map((name) => protocols[name])
  const fields = Object.keys(protocols["openai-chat"].fields) as ReadonlyArray<keyof (typeof all)[number]["fields"]>
  return table(
    ["field", ...chatProtocolNames.map(code)],
    [
      ...fields.map((field) => [code(field), ...all.map((protocol) => protocol.fields[field])]),
      ["images by URL", ...all.map(({ takesImageUrls }) => (takesImageUrls ? "sent" : "fetched, sent as bytes"))]
    ]
  )
}

/** The environment variables of `Config.ts`. */
const variableTable = (): string => {
  const shown = (value: string): string => (/^(unset|generated)/.test(value) ? value : code(value))
  return table(
    ["variable", "default", "meaning"],
    variables.map((variable) => [code(variable.name), shown(variable.default), variable.meaning])
  )
}

const awsCredentials = "`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`"

const keyCell = ({ apiKeyEnv, auth }: Provider): string => {
  if (auth === "none") return `optional: ${code(apiKeyEnv)}`
  return auth === "aws-sigv4" ? `${code(apiKeyEnv)}, or ${awsCredentials}` : code(apiKeyEnv)
}

const defaultCell = ({ auth, baseUrl }: Provider): string => {
  if (auth === "none") return "none: set it to switch the provider on"
  if (baseUrl === "") return "none: set it beside the key"
  return baseUrl.includes("{region}")
    ? `${code(baseUrl)}, in the region of \`AWS_REGION\` (\`us-east-1\`)`
    : code(baseUrl)
}

/** The providers of the shipped catalog, with the variables that switch them on. */
const providerTable = (): string =>
  table(
    ["provider", "key", "base URL", "default base URL"],
    [...Result.getOrThrow(loadCatalog()).providers.values()].map((provider) => [
      code(provider.id),
      keyCell(provider),
      code(provider.baseUrlEnv),
      defaultCell(provider)
    ])
  )

/** Every error code, by its status. */
const errorCodeTable = (): string =>
  table(
    ["status", "code", "when"],
    Object.entries(errorTable).map(([name, status]) => [
      String(status),
      code(name),
      errorMeanings[name as keyof typeof errorTable]
    ])
  )

/** The rate at which the length of audio is estimated from its size. */
const audioRateTable = (): string =>
  table(
    ["extension", "kbit/s"],
    Object.entries(
      Object.groupBy(audioExtensions, (extension) => String((audioBytesPerSecond[extension] * 8) / 1_000))
    ).map(([rate, extensions]) => [(extensions ?? []).map(code).join(", "), rate])
  )

/** The metrics of `/metrics`. */
const metricsTable = (): string =>
  table(
    ["metric", "type", "labels", "meaning"],
    Object.values<MetricDefinition>(metricTable).map(({ help, labels = [], name, type }) => [
      code(name),
      type,
      labels.map(code).join(", "),
      help
    ])
  )

/** Every table that documents may hold, by the name in its markers. */
export const tables: { readonly [name: string]: () => string } = {
  directives: directiveTable,
  protocols: protocolTable,
  variables: variableTable,
  providers: providerTable,
  errors: errorCodeTable,
  choices: () => table(["member", "meaning"], choiceRows()),
  "data-policies": () => table(["provider", "training", "retention"], dataPolicyRows()),
  "audio-rates": audioRateTable,
  metrics: metricsTable
}

const marked = /<!-- ([\w-]+):start -->[\s\S]*?<!-- \1:end -->/g

/** The names of the tables in a document, in their order. */
export const tablesIn = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(marked), ([, name = ""]) => name)

/** The document with every table filled in. A marker without its counterpart or for an unknown table throws. */
export const filled = ({ path, text }: Text, known: typeof tables = tables): string => {
  const starts = text.match(/<!-- [\w-]+:start -->/g) ?? []
  if (starts.length !== tablesIn(text).length) throw new Error(`${path}: a table starts and does not end`)
  return text.replaceAll(marked, (_, name: string) => {
    const generate = known[name]
    if (generate === undefined) throw new Error(`${path}: there is no table of the name ${name}`)
    return `<!-- ${name}:start -->\n\n${generate()}\n\n<!-- ${name}:end -->`
  })
}
