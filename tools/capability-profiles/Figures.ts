/**
 * Reads published benchmark figures from the files that their publishers offer, so that profiles can be derived again.
 *
 * The files are not part of this project, because two of the publishers state no licence. A missing file, row or column
 * is a fault: a profile from half of the sources would look like any other.
 */

/** Benchmark figures by source, then by row (the name of a model in that source), then by column. */
export type Figures = { readonly [S in SourceName]: ReadonlyMap<string, ReadonlyMap<string, number>> }

type Row = { readonly [column: string]: string }
type Entry = readonly [row: string, column: string, figure: string]

interface Source {
  /** When the figures were published, or last extended. */
  readonly date: string
  readonly file: string
  /** All figures of the file. Several figures of one row and column count as their mean. */
  readonly read: (text: string) => Iterable<Entry>
  /** What a figure is multiplied by to get a percentage; 1 if this is left out. */
  readonly unit?: number
}

export const sources = {
  LiveBench: {
    date: "2026-07",
    file: "livebench_table_2026_01_08.csv",
    read: (text) => readWide(text, "model")
  },
  LMArena: { date: "2025-12-17", file: "lmarena_text_2025-12-17.csv", read: (text) => readWide(text, "model") },
  BFCL: { date: "2026-04", file: "bfcl_data_overall.csv", read: (text) => readWide(text, "Model") },
  "models.dev": {
    date: "2026-07",
    file: "modelsdev_benchmarks.csv",
    read: (text) =>
      readLong(text, "score", ({ harness, metric, name, version }) => benchmarkName(name, version, metric, harness))
  },
  "llm-stats": {
    date: "2025-10",
    file: "llmstats_benchmarks_2025-10.csv",
    read: (text) => readLong(text, "score", ({ benchmark }) => benchmark ?? ""),
    unit: 100
  },
  Aider: { date: "2025-10", file: "aider_polyglot.yml", read: (text) => readAiderList(text) },
  "SWE-bench": { date: "2025-12", file: "swebench_bash_only.csv", read: (text) => readWide(text, "model") },
  Vectara: {
    date: "2026-03-10",
    file: "vectara_hallucination_2026-03-10.csv",
    read: (text) => readWide(text, "model")
  },
  LLMRouterBench: {
    date: "2026-01",
    file: "llmrouterbench_flagship_accuracy.csv",
    read: (text) => readWide(text, "model")
  }
} as const satisfies Record<string, Source>

export type SourceName = keyof typeof sources

// The type of `keys` loses the names.
export const sourceNames = Object.keys(sources) as ReadonlyArray<SourceName>

/** The figures of one source, from the text of its file. Values that are not numbers are left out. */
export const figuresOf = ({ read, unit = 1 }: Source, text: string): Figures[SourceName] => {
  const rows = new Map<string, Map<string, ReadonlyArray<number>>>()
  for (const [row, column, figure] of read(text)) {
    const value = Number.parseFloat(figure)
    if (!Number.isFinite(value)) continue
    const columns = rows.get(row) ?? new Map<string, ReadonlyArray<number>>()
    rows.set(row, columns.set(column, [...(columns.get(column) ?? []), value * unit]))
  }
  return new Map(
    Array.from(rows, ([row, columns]) => [
      row,
      new Map(Array.from(columns, ([column, values]) => [column, meanFigure(values)]))
    ])
  )
}

export const meanFigure = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Splits at every comma. Some files have quoted commas, but only behind the columns that are read. */
const parseCsv = (text: string): ReadonlyArray<Row> => {
  const [head = "", ...lines] = text.trim().split(/\r?\n/)
  const names = head.split(",")
  return lines.map((line) => {
    const values = line.split(",")
    return Object.fromEntries(names.map((name, index) => [name, values[index] ?? ""]))
  })
}

/** The wide format: one line per model, one column per benchmark. */
const readWide = (text: string, key: string): ReadonlyArray<Entry> =>
  parseCsv(text).flatMap((row) =>
    Object.entries(row).flatMap(([column, figure]): ReadonlyArray<Entry> => {
      return column === key ? [] : [[row[key] ?? "", column, figure]]
    })
  )

/** The long format: one line per model and benchmark. */
const readLong = (text: string, figure: string, columnOf: (row: Row) => string): ReadonlyArray<Entry> =>
  parseCsv(text).map((row) => [row["model"] ?? "", columnOf(row), row[figure] ?? ""])

/** A benchmark that was measured with two metrics or harnesses counts as two. */
const benchmarkName = (name = "", version = "", metric = "", harness = ""): string => {
  const versioned = version === "" ? name : `${name} ${version}`
  return [versioned, metric === "index" ? "" : metric, harness].filter((part) => part !== "").join(", ")
}

/** A YAML list of runs, of which only the lines `model:` and `pass_rate_2:` are read, in their order. */
const readAiderList = (text: string): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let model = ""
  for (const [, key, value = ""] of text.matchAll(/^ {2}(model|pass_rate_2): *(.*?) *$/gm)) {
    if (key === "model") model = value
    else entries.push([model, "pass_rate_2", value])
  }
  return entries
}
