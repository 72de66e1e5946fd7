/** What the documentation names is there: pages, anchors, files, variables, error codes, commands and their flags. */
import { existsSync } from "node:fs"
import { join, posix } from "node:path"
import process from "node:process"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { errorTable } from "../../src/api/ErrorTable.ts"
import { variables } from "../../src/Config.ts"
import { runCommand } from "../support/Commands.ts"
import { publishedFiles, readText, root } from "../support/SourceTree.ts"
import { anchorsOf, codeSpansOf, linksOf, manual, type Page, pageOf, pages } from "./DocumentPages.ts"

const assertNone = (faults: ReadonlyArray<string>): void => assert.strictEqual(faults.join("\n"), "")

const isThere = (path: string): boolean => existsSync(join(root, path))

/** What a link leads to that is not there. */
const brokenLinks = (page: Page, others: ReadonlyArray<Page>): ReadonlyArray<string> =>
  linksOf(page).flatMap(({ line, target }) => {
    const [file = "", anchor] = target.split("#")
    const path = file === "" ? page.path : posix.join(posix.dirname(page.path), file)
    const known = [page, ...others].find((other) => other.path === path)
    if (known === undefined && !isThere(path)) return [`${page.path}:${line}: ${target} leads nowhere`]
    if (anchor === undefined || (known !== undefined && anchorsOf(known).has(anchor))) return []
    return [`${page.path}:${line}: ${target} has no such heading`]
  })

describe("Links", () => {
  it("are checked with their anchors", () => {
    const page = pageOf(
      "docs/a.md",
      "# One two\n[x](b.md) [y](#one-two) [z](#three) [w](https://x.test/#a)\n```\n[v](c)\n```"
    )
    assert.deepStrictEqual(brokenLinks(page, [pageOf("docs/b.md", "")]), ["docs/a.md:2: #three has no such heading"])
    assert.deepStrictEqual(brokenLinks(page, [])[0], "docs/a.md:2: b.md leads nowhere")
  })

  it("lead to what is there", () => assertNone(pages.flatMap((page) => brokenLinks(page, pages))))

  it("lead from the README to every page of the manual", () => {
    const linked = new Set<string>()
    const follow = (page: Page): void => {
      for (const { target } of linksOf(page)) {
        const path = posix.join(posix.dirname(page.path), target.split("#")[0] ?? "")
        const next = manual.find((other) => other.path === path)
        if (next === undefined || linked.has(path)) continue
        linked.add(path)
        if (path.startsWith("docs/decisions/")) follow(next)
      }
    }
    manual.filter(({ path }) => path === "README.md").forEach(follow)
    assertNone(manual.map(({ path }) => path).filter((path) => path !== "README.md" && !linked.has(path)))
  })
})

describe("The README", () => {
  it("has at most 150 lines, and the two commands", () => {
    const readme = readText("README.md") ?? ""
    assert.isAtMost(readme.trimEnd().split("\n").length, 150)
    for (const command of ["npm install && npm start", "npm install && npm test"]) assert.include(readme, command)
  })
})

describe("Names in the documentation", () => {
  const code = publishedFiles()
    .filter((path) => !path.endsWith(".md") && !path.startsWith("test/docs/") && path !== "package-lock.json")
    .map((path) => readText(path) ?? "")
  const isInCode = (name: string): boolean =>
    code.some((text) => new RegExp(`(?<![A-Z0-9_])${name}(?![A-Z0-9_])`).test(text))

  it("of environment variables are read by something", () => {
    // Node's own error codes look the same.
    const isVariable = (span: string): boolean => /^(?!ERR_)[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]$/.test(span)
    assertNone(
      pages.flatMap((page) =>
        codeSpansOf(page)
          .map(({ code: span, line }) => ({ line, name: span.split("=")[0] ?? "" }))
          .filter(({ name }) => isVariable(name) && !isInCode(name))
          .map(({ line, name }) => `${page.path}:${line}: ${name}`)
      )
    )
  })

  it("include every variable of the gateway", () => {
    const text = readText("docs/configuration.md") ?? ""
    assertNone(variables.map(({ name }) => name).filter((name) => !text.includes(`| \`${name}\` |`)))
  })

  it("of error codes are those of the table, with their status", () => {
    const table: Readonly<Record<string, number>> = errorTable
    assertNone(
      pages.flatMap((page) =>
        page.prose.flatMap((line, index) =>
          [...line.matchAll(/\b([45]\d\d)(?: \|)? `([a-z_]+)`/g)]
            .filter(([, status, name = ""]) => table[name] !== Number(status))
            .map(([, status, name]) => `${page.path}:${index + 1}: ${status} ${name}`)
        )
      )
    )
    const explained = manual
      .filter(({ path }) => path === "docs/errors.md")
      .flatMap(({ text }) => Array.from(text.matchAll(/^\| \d{3} \| `([a-z_]+)` \|/gm), ([, name]) => name))
    assert.deepStrictEqual(explained.sort(), Object.keys(errorTable).sort())
  })

  it("of files and folders are there", () => {
    const isPath = (span: string): boolean => /^(?:src|test|tools|docs|examples|\.ci)\/[\w./-]*$/.test(span)
    assertNone(
      pages.flatMap((page) =>
        codeSpansOf(page)
          .filter(({ code: span }) => isPath(span) && !isThere(span))
          .map(({ code: span, line }) => `${page.path}:${line}: ${span}`)
      )
    )
  })

  it("of npm scripts are in package.json", () => {
    const { scripts } = JSON.parse(readText("package.json") ?? "{}") as { readonly scripts: object }
    assertNone(
      pages.flatMap((page) =>
        page.lines.flatMap((line, index) =>
          [...line.matchAll(/npm run (?:-s |--silent )?([a-z:]+)/g)]
            .filter(([, name = ""]) => !Object.hasOwn(scripts, name))
            .map(([, name]) => `${page.path}:${index + 1}: ${name}`)
        )
      )
    )
  })

  const unknownCommands = Effect.gen(function* () {
    const used = pages.flatMap(commandsIn)
    assert.isAbove(used.length, 5)
    const help = new Map<string, string>()
    for (const { command } of used) {
      if (help.has(command)) continue
      const { output } = yield* runCommand(process.execPath, ["src/cli.ts", ...command.split(" "), "--help"])
      help.set(command, output.includes(`tollgate ${command} `) ? output : "")
    }
    assertNone(
      used.flatMap(({ command, flags, place }) => {
        const text = help.get(command) ?? ""
        if (text === "") return [`${place}: tollgate ${command}`]
        return flags.filter((flag) => !text.includes(flag)).map((flag) => `${place}: tollgate ${command} ${flag}`)
      })
    )
  })

  it.live("of commands and flags are those that the command line knows", () => unknownCommands, 300_000)
})

/** `tollgate ledger verify --json`, in a block or in a sentence. */
const commandsIn = (page: Page) =>
  page.lines.flatMap((line, index) =>
    [...line.matchAll(/(?:tollgate --|`tollgate) ((?:ledger|route)(?: [a-z]+)?)([^|<>`]*)/g)].map(
      ([, command = "", rest = ""]) => ({
        place: `${page.path}:${index + 1}`,
        command,
        flags: Array.from(rest.matchAll(/--[a-z-]+/g), ([flag]) => flag)
      })
    )
  )
