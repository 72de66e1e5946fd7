/**
 * The rules for what is published beside the code: no file names the machine it was written on or the registry it was
 * installed from, and the example environment and the acceptance tests cover everything that the code declares. What
 * the documents say is compared in `GeneratedTables.test.ts`.
 */

export interface Text {
  readonly path: string
  readonly text: string
}

// Brackets and groups keep these patterns from matching themselves in this file.
const privatePath = /(?<![\w.~-])\/(?:work|home|root)\//
const registryHost = /\bregistry\.[\w-]+\.(?:org|com|io|dev|net|cloud|local|internal)\b/i

/** The host of the registry that npm is configured for on this machine, when npm runs the tests. */
export const configuredRegistry = (): ReadonlyArray<string> => {
  const configured = process.env["npm_config_registry"]
  return configured === undefined ? [] : [new URL(configured).host]
}

/** Places that only mean something on one machine. `hosts` are further names to look for. */
export const privatePlaces = (files: ReadonlyArray<Text>, hosts: ReadonlyArray<string> = []): ReadonlyArray<string> =>
  files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const place =
        privatePath.exec(line)?.[0] ?? registryHost.exec(line)?.[0] ?? hosts.find((host) => line.includes(host))
      return place === undefined ? [] : [`${path}:${index + 1}: names ${place}, which exists on this machine only`]
    })
  )

/** Lines of a lock file that pin a registry: `npm ci` would then install from that one and no other. */
export const pinnedRegistries = ({ path, text }: Text): ReadonlyArray<string> =>
  text
    .split("\n")
    .flatMap((line, index) =>
      line.includes('"resolved"') ? [`${path}:${index + 1}: records where a package came from`] : []
    )

/** Error codes that no acceptance test provokes. */
export const unprovedCodes = (codes: ReadonlyArray<string>, acceptance: ReadonlyArray<Text>): ReadonlyArray<string> =>
  codes
    .filter((code) => !acceptance.some(({ text }) => mentions(text, code)))
    .map((code) => `${code}: in no file under test/acceptance`)

const mentions = (text: string, word: string): boolean => new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(text)

/** Environment variables on which the code and the example environment do not agree, in either direction. */
export const unmatchedVariables = (options: {
  readonly declared: ReadonlyArray<string>
  /** Variables of providers, which the example may name and need not. */
  readonly catalog: ReadonlyArray<string>
  readonly example: string
  /** `docker-compose.yml` reads variables of its own, such as the database's password. */
  readonly compose: string
}): ReadonlyArray<string> => {
  const inExample = matches(options.example, /^#? ?([A-Z][A-Z0-9_]*)=/gm)
  const inCompose = matches(options.compose, /\$\{([A-Z][A-Z0-9_]*)/g)
  const known = [...options.declared, ...options.catalog, ...inCompose]
  return [
    ...options.declared.filter((name) => !inExample.includes(name)).map((name) => `${name}: not in .env.example`),
    ...inExample.filter((name) => !known.includes(name)).map((name) => `${name}: in .env.example but read by nothing`)
  ]
}

/** The variables that the shipped catalog names: the key and the base URL of each provider. */
export const providerVariables = (catalog: ReadonlyArray<Text>): ReadonlyArray<string> =>
  catalog.flatMap(({ text }) => matches(text, /"(?:api_key_env|base_url_env)"\s*:\s*"([A-Z0-9_]+)"/g))

const matches = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  Array.from(text.matchAll(pattern), ([, name = ""]) => name)
