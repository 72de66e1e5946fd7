/**
 * The rules for what is published beside the code: no file tells where it was written or which registry it was
 * installed from, and the manual, the example environment and the tests name everything that the code declares.
 */

export interface Text {
  readonly path: string
  readonly text: string
}

// The brackets and groups keep the patterns themselves out of what they search for.
const privatePath = /(?<![\w.~-])\/(?:work|home|root)\//
const registryHost = /\bregistry\.[\w-]+\.(?:org|com|io|dev|net|cloud|local|internal)\b/i

/** The registry that npm is set up for on this machine, while npm runs the tests. */
export const configuredRegistry = (): ReadonlyArray<string> => {
  const configured = process.env["npm_config_registry"]
  return configured === undefined ? [] : [new URL(configured).host]
}

/** Places in text that only make sense on one machine. `hosts` are further names to look for. */
export const privatePlaces = (files: ReadonlyArray<Text>, hosts: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const place =
        privatePath.exec(line)?.[0] ?? registryHost.exec(line)?.[0] ?? hosts.find((host) => line.includes(host))
      return place === undefined ? [] : [`${path}:${index + 1}: names ${place}, which is nowhere but here`]
    })
  )

/** Lines of a lock file that pin a registry: `npm ci` would then ask that one and no other. */
export const pinnedRegistries = ({ path, text }: Text): ReadonlyArray<string> =>
  text
    .split("\n")
    .flatMap((line, index) =>
      line.includes('"resolved"') ? [`${path}:${index + 1}: records where a package came from`] : []
    )

const names = (text: string, word: string): boolean => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text)

/** Error codes that no acceptance test provokes, or that the manual does not explain. */
export const unprovedCodes = (options: {
  readonly codes: ReadonlyArray<string>
  readonly acceptance: ReadonlyArray<Text>
  readonly manual: Text
}): ReadonlyArray<string> =>
  options.codes.flatMap((code) => [
    ...(options.acceptance.some(({ text }) => names(text, code)) ? [] : [`${code}: in no file under test/acceptance`]),
    ...(names(options.manual.text, code) ? [] : [`${code}: not in ${options.manual.path}`])
  ])

/** Environment variables that code and documents do not agree on, in either direction. */
export const undocumentedVariables = (options: {
  readonly declared: ReadonlyArray<string>
  /** Variables of providers: they are data, may be documented, and need not be. */
  readonly catalog: ReadonlyArray<string>
  readonly manual: Text
  readonly example: string
  /** `docker-compose.yml` reads variables of its own, such as the database's password. */
  readonly compose: string
}): ReadonlyArray<string> => {
  const { path, text } = options.manual
  const inManual = tableNames(text)
  const inExample = matches(options.example, /^#? ?([A-Z][A-Z0-9_]*)=/gm)
  const inCompose = matches(options.compose, /\$\{([A-Z][A-Z0-9_]*)/g)
  const known = [...options.declared, ...options.catalog]
  const missing = (wanted: ReadonlyArray<string>, there: ReadonlyArray<string>, fault: string) =>
    wanted.filter((name) => !there.includes(name)).map((name) => `${name}: ${fault}`)
  return [
    ...missing(options.declared, inManual, `in no table of ${path}`),
    ...missing(options.declared, inExample, "not in .env.example"),
    ...missing(inManual, known, `in a table of ${path} but read by nothing`),
    ...missing(inExample, [...known, ...inCompose], "in .env.example but read by nothing")
  ]
}

/** The variables that the shipped catalog names: each provider's key and base URL. */
export const providerVariables = (catalog: ReadonlyArray<Text>): ReadonlyArray<string> =>
  catalog.flatMap(({ text }) => matches(text, /"(?:api_key_env|base_url_env)"\s*:\s*"([A-Z0-9_]+)"/g))

const matches = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  Array.from(text.matchAll(pattern), ([, name = ""]) => name)

/** The variables in the first column of the tables of a Markdown document; one row may name several. */
const tableNames = (markdown: string): ReadonlyArray<string> =>
  markdown
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .flatMap((row) => matches(row.split("|")[1] ?? "", /`([A-Z][A-Z0-9_]*)`/g))
