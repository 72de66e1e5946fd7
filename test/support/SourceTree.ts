/**
 * The project's own text, as data for the style rules: files with their syntax tree, imports and functions. Syntax is
 * read by a real parser, so that a word in a string or in a comment is never taken for code.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"

import { parseAst } from "vitest/node"

/** An ESTree node, as far as rules look at one: a type, a place, and fields to be narrowed where they are read. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface Import {
  readonly specifier: string
  /** What a relative specifier names, from the root of the project; `undefined` for packages. */
  readonly target: string | undefined
  /** Erased before the program runs, so it cannot take part in a cycle at run time. */
  readonly typeOnly: boolean
  readonly line: number
}

export interface SourceFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly lines: ReadonlyArray<string>
  /** Every node in document order, parents before children. Empty for a file that is not TypeScript. */
  readonly nodes: ReadonlyArray<Node>
  readonly imports: ReadonlyArray<Import>
  readonly lineOf: (node: Node) => number
  /** Lines from the first to the last of the node, both included. */
  readonly height: (node: Node) => number
}

export type SourceTree = ReadonlyArray<SourceFile>

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

export const children = (node: Node): ReadonlyArray<Node> =>
  Object.values(node)
    .flatMap((field): ReadonlyArray<unknown> => (Array.isArray(field) ? field : [field]))
    .filter(isNode)

/** `it.effect.skip` as `["it", "effect", "skip"]`; calls and template tags on the way are looked through. */
export const nameOf = (node: unknown): ReadonlyArray<string> => {
  if (!isNode(node)) return []
  if (node.type === "Identifier") return [String(node["name"])]
  if (node.type === "CallExpression") return nameOf(node["callee"])
  if (node.type === "TaggedTemplateExpression") return nameOf(node["tag"])
  if (node.type === "ChainExpression") return nameOf(node["expression"])
  if (node.type !== "MemberExpression") return []
  const property = node["property"]
  const last = isNode(property) && property.type === "Literal" ? [String(property["value"])] : nameOf(property)
  return [...nameOf(node["object"]), ...last]
}

/** Reads one file. Throws on a syntax error: a file that cannot be read keeps no rules. */
export const sourceFile = (path: string, text: string): SourceFile => {
  const lines = text.replace(/\n$/, "").split("\n")
  const lineAt = lineFinder(text)
  const nodes = path.endsWith(".ts") ? flatten(parse(path, text)) : []
  const lineOf = (node: Node) => lineAt(node.start)
  return {
    path,
    text,
    lines,
    nodes,
    imports: nodes.flatMap((node) => importsOf(path, node, lineOf(node))),
    lineOf,
    height: (node) => lineAt(node.end) - lineAt(node.start) + 1
  }
}

const parse = (path: string, text: string): Node => {
  try {
    // The parser's own node types are a closed union of some two hundred; every field read from one is narrowed again.
    return parseAst(text, { lang: "ts" }) as unknown as Node
  } catch (cause) {
    throw new Error(`${path} does not parse`, { cause })
  }
}

const flatten = (node: Node): Array<Node> => [node, ...children(node).flatMap(flatten)]

const lineFinder = (text: string): ((offset: number) => number) => {
  const starts = [0, ...[...text.matchAll(/\n/g)].map((newline) => newline.index + 1)]
  return (offset) => {
    const next = starts.findIndex((start) => start > offset)
    return next === -1 ? starts.length : next
  }
}

const importing = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType"
])

const importsOf = (path: string, node: Node, line: number): ReadonlyArray<Import> => {
  const source = node["source"]
  if (!importing.has(node.type) || !isNode(source) || typeof source["value"] !== "string") return []
  const specifier = source["value"]
  return [
    {
      specifier,
      target: specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(path), specifier)) : undefined,
      // Only the keyword on the whole declaration erases it: `import { type A }` still runs the module.
      typeOnly: node.type === "TSImportType" || node["importKind"] === "type" || node["exportKind"] === "type",
      line
    }
  ]
}

/** The root of the project on disk. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** The text of a file of the project, or nothing when there is none. */
export const readText = (path: string): string | undefined =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined

const neverOurs = new Set(["node_modules", ".git", ".data", "coverage"])

/** Every file under a folder of the project, sorted. */
export const filesUnder = (folder: string): ReadonlyArray<string> =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => !neverOurs.has(entry.name))
        .flatMap((entry) => {
          const path = posix.join(folder, entry.name)
          return entry.isDirectory() ? filesUnder(path) : [path]
        })
        .sort()
    : []

/** What git would publish: tracked files and new ones it does not ignore. Without git, every file there is. */
export const publishedFiles = (): ReadonlyArray<string> => {
  try {
    const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"]
    })
    return list.split("\0").filter((path) => path !== "" && existsSync(join(root, path)) && isFile(path))
  } catch {
    return filesUnder(".")
  }
}

const isFile = (path: string): boolean => statSync(join(root, path)).isFile()
