/**
 * The style rules as functions from the source tree to the places that break them. Each rule is proved by a sample that
 * breaks it in `test/tidy.test.ts`; a rule that cannot fail is not one.
 */
import { children, isNode, nameOf, type Node, type SourceFile, type SourceTree } from "./SourceTree.ts"

export interface Rule {
  readonly says: string
  /** One `path:line: what is wrong` for each place. */
  readonly check: (tree: SourceTree) => ReadonlyArray<string>
}

export const limits = { sourceLines: 250, testLines: 500, functionLines: 70, columns: 120 } as const

const capabilities = ["access", "routing", "providers", "ledger", "receipts", "idempotency"] as const
const storing = ["domain", "catalog", "sql", "Config", "observability"]
const edge = ["domain", "catalog", "api", ...capabilities, "gateway", "alerts", "timing", "Config", "observability"]

/**
 * What each folder of `src` may import, beside itself. `launch.ts`, `main.ts`, `cli.ts` and `Config.ts` count as
 * folders of their own. An import that is not listed here would run upwards or sideways.
 */
const arrows: Record<string, ReadonlyArray<string>> = {
  domain: [],
  api: ["domain"],
  catalog: ["domain", "observability"],
  access: storing,
  routing: [...storing, "timing"],
  ledger: storing,
  receipts: storing,
  idempotency: storing,
  // Sockets to hosts that somebody else named: which addresses they may reach.
  network: [],
  timing: [],
  providers: ["domain", "catalog", "network", "timing", "Config", "observability"],
  gateway: ["domain", "catalog", ...capabilities, "Config", "observability"],
  // Alerts watch what access, the ledger and the providers know, so they see all three, and only the edge sees them.
  alerts: ["domain", "catalog", "access", "ledger", "providers", "network", "sql", "Config", "observability"],
  http: edge,
  sandbox: ["domain", "catalog", "Config"],
  sql: ["domain", "Config", "observability"],
  observability: ["domain", "Config"],
  Config: ["domain", "config"],
  config: ["domain"],
  // An audit compares the journal, the request log and the prices, so it sees both folders that store them.
  audit: ["domain", "catalog", "ledger", "receipts", "sql"],
  // Audits and balances are read from the database itself: they work when no gateway runs, and trust none that does.
  cli: [...edge, "config", "http", "audit", "sql"],
  main: [...edge, "http", "network", "sandbox", "sql"],
  // The primary loads nothing of the gateway; a worker is one.
  workers: ["Config", "config", "network", "observability", "main"],
  launch: ["main", "workers"]
}

/** Single files that a folder may import from a folder that is closed to it. */
const allowedFiles: Record<string, ReadonlyArray<string>> = { gateway: ["src/api/Errors.ts"] }

/**
 * The only files of a folder that others may import. Only `Dispatch`, which asks for a hold, reaches a provider;
 * `Adjustments` computes what it would send.
 */
const publicFiles: Record<string, ReadonlyArray<string>> = {
  providers: [
    ...["Dispatch", "ProviderAnswer", "ProviderHealth", "Target"].map((name) => `src/providers/dispatch/${name}.ts`),
    "src/providers/protocols/Adjustments.ts"
  ]
}

const folderOf = (path: string): string | undefined =>
  path.startsWith("src/") ? path.slice("src/".length).replace(/\.ts$/, "").split("/")[0] : undefined

const protocols = "src/providers/protocols/"
const sharedByProtocols = `${protocols}shared/`

/** The folder of one protocol, such as `src/providers/protocols/gemini/`. */
const protocolFolderOf = (path: string): string | undefined =>
  path.startsWith(sharedByProtocols) ? undefined : /^src\/providers\/protocols\/[^/]+\//.exec(path)?.[0]

/** A protocol is a pure translation: it sees its own folder, what is shared, the domain and facts about models. */
const protocolFault = (from: string, to: string): string | undefined => {
  if (!from.startsWith(protocols)) return undefined
  if (![protocols, "src/domain/", "src/catalog/"].some((prefix) => to.startsWith(prefix)))
    return `a protocol is a pure translation and may not import ${to}`
  const [folder, target] = [protocolFolderOf(from), protocolFolderOf(to)]
  if (from.startsWith(sharedByProtocols) && target !== undefined)
    return `what protocols share may not import one of them (${to})`
  return folder !== undefined && target !== undefined && folder !== target
    ? `a protocol may not import another one (${to}); move what both need to ${sharedByProtocols}`
    : undefined
}

const arrowFault = (from: string, to: string): string | undefined => {
  const [folder, target] = [folderOf(from), folderOf(to)]
  if (folder === undefined) return undefined
  if (target === undefined) return `src imports nothing outside src, not ${to}`
  const allowed = arrows[folder]
  if (allowed === undefined) return `the folder ${folder} has no arrows: add it to test/support/StyleRules.ts`
  const fault = protocolFault(from, to)
  if (fault !== undefined) return fault
  if (folder === target || allowedFiles[folder]?.includes(to)) return undefined
  if (allowed.includes(target) && publicFiles[target] && !publicFiles[target].includes(to))
    return `of ${target} only ${publicFiles[target].join(" and ")} may be imported, not ${to}`
  if (allowed.includes(target)) return undefined
  return `${folder} may not import ${target} (${to})`
}

/** Folders whose tests drive real processes and measure real time. */
const realWorld = [
  "test/acceptance/",
  "test/bench/",
  "test/clients/",
  "test/faults/",
  "test/support/",
  "vitest.config.ts"
]

interface Ban {
  readonly name: string
  readonly instead: string
  readonly except: ReadonlyArray<string>
}
const bans: ReadonlyArray<Ban> = [
  { name: "console", instead: "log through Effect", except: realWorld },
  {
    name: "process.env",
    instead: "declare the variable in src/Config.ts",
    // What is launched depends on a variable, and nothing may be imported before that is known.
    except: ["src/Config.ts", "src/launch.ts", ...realWorld]
  },
  { name: "Date.now", instead: "take the time from Clock", except: realWorld },
  { name: "new Date", instead: "take the time from Clock or DateTime", except: realWorld },
  { name: "performance.now", instead: "take the time from Clock", except: realWorld },
  { name: "Math.random", instead: "use Random, or its secure kind", except: realWorld }
]

/** The global that a node uses, written as in `bans`: `process.env`, `new Date`. */
const globalIn = (node: Node): string | undefined => {
  if (node.type === "ImportDeclaration") return importsEnvironment(node) ? "process.env" : undefined
  if (node.type === "NewExpression") return `new ${nameOf(node["callee"]).join(".")}`
  if (node.type !== "MemberExpression") return undefined
  const path = nameOf(node).filter((part, index) => index > 0 || part !== "globalThis")
  // Two parts exactly, so that `process.env.HOME` is found once, at its inner `process.env`.
  if (path.length !== 2) return undefined
  return path[0] === "console" ? "console" : path.join(".")
}

const importsEnvironment = (node: Node): boolean =>
  children(node).some((child) => child.type === "Literal" && /^(node:)?process$/.test(String(child["value"]))) &&
  children(node).some((child) => nameOf(child["imported"])[0] === "env")

const perFile = (
  says: string,
  check: (file: SourceFile) => Iterable<readonly [line: number, fault: string]>
): Rule => ({
  says,
  check: (tree) => tree.flatMap((file) => Array.from(check(file), ([line, fault]) => `${file.path}:${line}: ${fault}`))
})

/** A rule over lines of text, for what only comments and strings can hold. */
const perLine = (says: string, pattern: RegExp, fault: string): Rule =>
  perFile(says, (file) =>
    file.lines.flatMap((line, index) => (pattern.test(line) ? [[index + 1, fault] as const] : []))
  )

/** Source and offline tools. Tests may name their own things as they like. */
const isShipped = (file: SourceFile): boolean => /^(src|tools)\//.test(file.path)
const isTest = (file: SourceFile): boolean => file.path.startsWith("test/")
const isFunction = (node: Node): boolean => /^(Arrow)?Function(Declaration|Expression)$/.test(node.type)

/** `it(...)`, `it.effect(...)`, `describe(...)`, `layer(...)(...)`: a call that registers tests. */
const registersTests = (node: Node): boolean =>
  node.type === "CallExpression" && /^(it|test|describe|layer)$/.test(nameOf(node)[0] ?? "")

/**
 * The lines of a function. In a test, the cases registered within it do not count: a suite is a list, and each of its
 * cases is measured by itself.
 */
const functionLines = (file: SourceFile, node: Node): number => {
  const registered = (inner: Node): number =>
    registersTests(inner) ? file.height(inner) - 1 : children(inner).reduce((sum, child) => sum + registered(child), 0)
  return file.height(node) - (isTest(file) ? children(node).reduce((sum, child) => sum + registered(child), 0) : 0)
}

/**
 * Depth first over all imports, those of types included: an import of a file that is still on the path closes a cycle.
 * A cycle of types runs, but its files can only be understood together.
 */
const importCycles = (tree: SourceTree): ReadonlyArray<string> => {
  const files = new Map(tree.map((file) => [file.path, file]))
  const done = new Set<string>()
  const search = (path: string, trail: ReadonlyArray<string>): ReadonlyArray<string> => {
    if (done.has(path)) return []
    const onPath = [...trail, path]
    const found = (files.get(path)?.imports ?? []).flatMap(({ line, target }) => {
      if (target === undefined) return []
      const first = onPath.indexOf(target)
      if (first === -1) return search(target, onPath)
      return [`${path}:${line}: circular import: ${[...onPath.slice(first), target].join(" -> ")}`]
    })
    done.add(path)
    return found
  }
  return tree.flatMap((file) => search(file.path, []))
}

/** Files that recur in the folder of every protocol, with the same names in each. */
const recurringFile = /^src\/(providers|sandbox)\/protocols\/[a-z-]+\/(Body|Content|Request|Response|Errors|Usage)\.ts$/

/** The names that a file exports, with the declarations they come from; one name may be a type and a value at once. */
const exportedNames = (file: SourceFile): ReadonlyMap<string, Node> => {
  const names = new Map<string, Node>()
  for (const node of file.nodes.filter(({ type }) => type === "ExportNamedDeclaration")) {
    const declared = isNode(node["declaration"]) ? node["declaration"] : undefined
    const named = [
      ...(declared ? [declared["id"], ...children(declared).map((child) => child["id"])] : []),
      ...children(node).map((child) => child["exported"])
    ].flatMap((id) => nameOf(id))
    for (const name of named) names.set(name, node)
  }
  return names
}

/**
 * Exported names that stand in two files, at the second and every further one. Only the files that recur in each
 * protocol's folder may share names, and only with each other.
 */
const homonyms = (tree: SourceTree): ReadonlyArray<string> => {
  const first = new Map<string, SourceFile>()
  return tree.flatMap((file) =>
    [...exportedNames(file)].flatMap(([name, node]) => {
      const other = first.get(name)
      if (other === undefined) first.set(name, file)
      if (other === undefined || (recurringFile.test(file.path) && recurringFile.test(other.path))) return []
      return [`${file.path}:${file.lineOf(node)}: ${name} is exported by ${other.path} too`]
    })
  )
}

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** Files that share their name with an earlier one. The names of tests may recur: a test is named for its file. */
const repeatedFileNames = (tree: SourceTree): ReadonlyArray<string> => {
  const first = new Map<string, string>()
  return tree.flatMap(({ path }) => {
    const name = baseName(path)
    const other = first.get(name)
    if (name.endsWith(".test.ts") || recurringFile.test(path)) return []
    if (other === undefined) first.set(name, path)
    return other === undefined ? [] : [`${path}:1: ${other} has the same name`]
  })
}

const mentions = (node: Node, name: string): boolean =>
  (node.type === "Identifier" && node["name"] === name) || children(node).some((child) => mentions(child, name))

/** Makes the proof of a hold, which `Dispatch` asks for, out of an id: by its constructor or by a cast. */
const claimsHold = (node: Node): boolean =>
  (node.type === "Identifier" && node["name"] === "heldRequestId") ||
  (node.type === "TSAsExpression" &&
    isNode(node["typeAnnotation"]) &&
    mentions(node["typeAnnotation"], "HeldRequestId"))

export const rules = {
  arrows: perFile("folders import only along the arrows", function* (file) {
    for (const { line, target } of file.imports) {
      const fault = target && arrowFault(file.path, target)
      if (fault) yield [line, fault]
    }
  }),
  holds: perFile("only the ledger says that a request has credit on hold", function* (file) {
    if (!file.path.startsWith("src/") || file.path.startsWith("src/ledger/") || file.path === "src/domain/Ids.ts")
      return
    for (const node of file.nodes)
      if (claimsHold(node)) yield [file.lineOf(node), "take a hold from CreditLedger instead"]
  }),
  cycles: { says: "no circular imports", check: importCycles },
  homonyms: { says: "an exported name means one thing", check: (tree) => homonyms(tree.filter(isShipped)) },
  uniqueFileNames: { says: "a file name means one thing", check: (tree) => repeatedFileNames(tree) },
  specifiers: perFile("relative imports name the file they mean", function* (file) {
    for (const { line, specifier, target } of file.imports)
      if (target && !/\.(ts|json)$/.test(target)) yield [line, `write the extension of ${specifier}`]
  }),
  fileLength: perFile("files are short", function* (file) {
    const limit = isTest(file) ? limits.testLines : limits.sourceLines
    if (file.lines.length > limit) yield [limit + 1, `${file.lines.length} lines, at most ${limit}`]
  }),
  functionLength: perFile("functions are short", function* (file) {
    for (const node of file.nodes.filter(isFunction)) {
      const lines = functionLines(file, node)
      if (lines > limits.functionLines)
        yield [file.lineOf(node), `function of ${lines} lines, at most ${limits.functionLines}`]
    }
  }),
  columns: perFile("lines are narrow", function* (file) {
    for (const [index, line] of file.lines.entries())
      if (line.length > limits.columns) yield [index + 1, `${line.length} columns, at most ${limits.columns}`]
  }),
  tabs: perLine("no tabs", /\t/, "indent with spaces"),
  headers: perFile("every source file says what it is for", function* (file) {
    if (file.path.startsWith("src/") && file.path.endsWith(".ts") && !/^(#!.*\n)?\/\*\*/.test(file.text))
      yield [1, "begin with a header comment: what the file is for and the one rule that must hold"]
  }),
  fileNames: perFile("files are named for a noun of the domain", function* (file) {
    const vague = /(^|\/)(utils?|helpers?|common|types|misc)(\/|\.)|(Impl|Manager)\./i.exec(file.path)
    if (vague) yield [1, "name the file for what it holds"]
  }),
  globals: perFile("time, chance, logs and the environment come from Effect", function* (file) {
    for (const node of file.nodes) {
      const ban = bans.find(({ name }) => name === globalIn(node))
      if (ban && !ban.except.some((prefix) => file.path.startsWith(prefix)))
        yield [file.lineOf(node), `no ${ban.name}: ${ban.instead}`]
    }
  }),
  any: perFile("types are known", function* (file) {
    for (const node of file.nodes)
      if (node.type === "TSAnyKeyword") yield [file.lineOf(node), "no any: write the type, or unknown and narrow it"]
  }),
  defaultExports: perFile("exports have names", function* (file) {
    for (const node of file.nodes)
      if (node.type === "ExportDefaultDeclaration" && !file.path.endsWith(".config.ts"))
        yield [file.lineOf(node), "no default export"]
  }),
  // The brackets keep the words themselves out of this file.
  markers: perLine("nothing is left for later", /\b(TOD[O]|FIXM[E]|XX[X])\b/, "finish it, or say why it is as it is"),
  suppressions: perLine("the compiler is not silenced", /@ts-(ignor[e]|nochec[k])/, "fix the type"),
  skipped: perFile("a test that does not run says why", function* (file) {
    for (const node of file.nodes) {
      const [head = "", ...tail] = node.type === "MemberExpression" ? nameOf(node) : []
      const line = file.lineOf(node)
      if (!isTest(file) || !/^(it|test|describe|layer)$/.test(head)) continue
      if (tail.at(-1) === "only") yield [line, "only would silence the other tests"]
      if (tail.at(-1) === "skip" && !/^\s*\/\//.test(file.lines[line - 2] ?? ""))
        yield [line, "give the reason in a comment on the line before"]
    }
  })
} satisfies Record<string, Rule>
