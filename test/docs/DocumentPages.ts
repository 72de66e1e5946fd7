/**
 * The published Markdown pages, read as far as the suites beside this file need them: headings with their anchors,
 * links, and fenced blocks with the comment that says how a block is kept true.
 *
 * - `<!-- runs -->` before a block: it is executed against a gateway with the simulated provider. With
 *   `<!-- runs: text -->` its output also contains the text.
 * - `<!-- runs offline: text -->`: the same, on the database of a gateway that has been stopped.
 * - `<!-- from: path -->`: the block is a part of this file, word for word.
 */
import { filesUnder, readText } from "../support/SourceTree.ts"

export interface Block {
  readonly page: string
  /** Of the opening fence, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  readonly mark:
    | { readonly _tag: "Runs"; readonly offline: boolean; readonly prints: string | undefined }
    | { readonly _tag: "From"; readonly path: string }
    | undefined
}

export interface Page {
  readonly path: string
  readonly text: string
  readonly lines: ReadonlyArray<string>
  /** The lines outside fenced blocks; those within are empty. */
  readonly prose: ReadonlyArray<string>
  readonly blocks: ReadonlyArray<Block>
}

const runs = /^<!-- runs( offline)?(?:: (.+?))? -->$/
const from = /^<!-- from: (\S+) -->$/

const markIn = (line: string): Block["mark"] => {
  const run = runs.exec(line)
  if (run !== null) return { _tag: "Runs", offline: run[1] !== undefined, prints: run[2] }
  const path = from.exec(line)?.[1]
  return path === undefined ? undefined : { _tag: "From", path }
}

/** A page from its text. A block belongs to the mark on the last line with text before it. */
export const pageOf = (path: string, text: string): Page => {
  const lines = text.split("\n")
  const prose: Array<string> = []
  const blocks: Array<Block> = []
  let open: { readonly line: number; readonly language: string; readonly body: Array<string> } | undefined
  let before = ""
  for (const [index, line] of lines.entries()) {
    const fence = /^```(\w*)$/.exec(line)
    if (open === undefined) {
      prose.push(line)
      if (fence !== null) open = { line: index + 1, language: fence[1] ?? "", body: [] }
      else if (line.trim() !== "") before = line.trim()
      continue
    }
    prose.push("")
    if (line !== "```") open.body.push(line)
    else {
      blocks.push({
        page: path,
        line: open.line,
        language: open.language,
        text: open.body.join("\n"),
        mark: markIn(before)
      })
      open = undefined
      before = ""
    }
  }
  return { path, text, lines, prose, blocks }
}

/** Headings as GitHub makes anchors of them. */
export const anchorsOf = (page: Page): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const line of page.prose) {
    const title = /^#{1,6} (.+)$/.exec(line)?.[1]
    if (title === undefined) continue
    const slug = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-")
    let anchor = slug
    for (let copy = 1; anchors.has(anchor); copy++) anchor = `${slug}-${copy}`
    anchors.add(anchor)
  }
  return anchors
}

export interface PageLink {
  readonly line: number
  readonly target: string
}

/** Links within the project; those with a scheme lead elsewhere. The text of a link may run over a line's end. */
export const linksOf = (page: Page): ReadonlyArray<PageLink> => {
  const prose = page.prose.join("\n")
  return [...prose.matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)]
    .map(({ 1: target = "", index }) => ({ line: prose.slice(0, index).split("\n").length, target }))
    .filter(({ target }) => !/^[a-z][a-z+.-]*:/.test(target))
}

/** Text in backticks, with its line. */
export const codeSpansOf = (page: Page): ReadonlyArray<{ readonly line: number; readonly code: string }> =>
  page.prose.flatMap((line, index) =>
    [...line.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => ({ line: index + 1, code }))
  )

const paths = [
  ...filesUnder(".").filter((path) => /^[A-Z]+\.md$/.test(path)),
  ...["docs", "examples", "tools"].flatMap(filesUnder).filter((path) => path.endsWith(".md"))
]

/** Every page of the project. */
export const pages: ReadonlyArray<Page> = paths.map((path) => pageOf(path, readText(path) ?? ""))

/** Those that explain the product: the README and `docs/`. */
export const manual: ReadonlyArray<Page> = pages.filter(({ path }) => path === "README.md" || path.startsWith("docs/"))
