/**
 * Reads published figures from the files that their publishers offer, so that profiles can be derived again.
 *
 * The files are not part of this project: two of the publishers state no licence. A file that is missing is a fault, as
 * is a row without its columns, because a profile from half of the sources would look like any other.
 */
import type { SourceName } from "./Scale.ts"

/** By source, by row (a model as that source calls it), by column. */
export type Figures = { readonly [S in SourceName]: ReadonlyMap<string, ReadonlyMap<string, number>> }

type Row = { readonly [column: string]: string }
type Found = readonly [row: string, column: string, figure: string]

interface Format {
  readonly file: string
  /** Everything that the file says. A figure said twice counts as its mean. */
  readonly read: (text: string) => Iterable<Found>
  /** What makes a percentage of the file's unit. */
  readonly unit?: number
}

export const formats = {
  LiveBench: { file: "livebench_table_2026_01_08.csv", read: (text) => wide(text, "model") },
  LMArena: { file: "lmarena_text_2025-12-17.csv", read: (text) => wide(text, "model") },
  BFCL: { file: "bfcl_data_overall.csv", read: (text) => wide(text, "Model") },
  "models.dev": {
    file: "modelsdev_benchmarks.csv",
    read: (text) =>
      long(text, "score", ({ harness, metric, name, version }) => benchmarkOf(name, version, metric, harness))
  },
  "llm-stats": {
    file: "llmstats_benchmarks_2025-10.csv",
    read: (text) => long(text, "score", ({ benchmark }) => benchmark ?? ""),
    unit: 100
  },
  Aider: { file: "aider_polyglot.yml", read: (text) => blocks(text) },
  "SWE-bench": { file: "swebench_bash_only.csv", read: (text) => wide(text, "model") },
  Vectara: { file: "vectara_hallucination_2026-03-10.csv", read: (text) => wide(text, "model") },
  LLMRouterBench: { file: "llmrouterbench_flagship_accuracy.csv", read: (text) => wide(text, "model") }
} as const satisfies { readonly [S in SourceName]: Format }

/** The figures of one source, from the text of its file. */
export const figuresOf = ({ read, unit = 1 }: Format, text: string): Figures[SourceName] => {
  const said = new Map<string, Map<string, ReadonlyArray<number>>>()
  for (const [row, column, figure] of read(text)) {
    const value = Number.parseFloat(figure)
    if (!Number.isFinite(value)) continue
    const columns = said.get(row) ?? new Map<string, ReadonlyArray<number>>()
    said.set(row, columns.set(column, [...(columns.get(column) ?? []), value * unit]))
  }
  return new Map(
    Array.from(said, ([row, columns]) => [row, new Map(Array.from(columns, ([name, all]) => [name, meanFigure(all)]))])
  )
}

export const meanFigure = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** The columns that are read hold no quoted commas; the last columns of some files do. */
const csv = (text: string): ReadonlyArray<Row> => {
  const [head = "", ...lines] = text.trim().split(/\r?\n/)
  const names = head.split(",")
  return lines.map((line) => {
    const cells = line.split(",")
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ""]))
  })
}

/** One line per model, one column per benchmark. */
const wide = (text: string, key: string): ReadonlyArray<Found> =>
  csv(text).flatMap((row) =>
    Object.entries(row).flatMap(([column, figure]): ReadonlyArray<Found> => {
      return column === key ? [] : [[row[key] ?? "", column, figure]]
    })
  )

/** One line per model and benchmark. */
const long = (text: string, figure: string, columnOf: (row: Row) => string): ReadonlyArray<Found> =>
  csv(text).map((row) => [row["model"] ?? "", columnOf(row), row[figure] ?? ""])

/** One benchmark measured in two ways is two. */
const benchmarkOf = (name = "", version = "", metric = "", harness = ""): string => {
  const versioned = version === "" ? name : `${name} ${version}`
  return [versioned, metric === "index" ? "" : metric, harness].filter((part) => part !== "").join(", ")
}

/** A list in YAML of which the lines `model:` and `pass_rate_2:` are read, in the order they stand. */
const blocks = (text: string): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  let model = ""
  for (const [, key, value = ""] of text.matchAll(/^ {2}(model|pass_rate_2): *(.*?) *$/gm)) {
    if (key === "model") model = value
    else found.push([model, "pass_rate_2", value])
  }
  return found
}
