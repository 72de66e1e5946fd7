/**
 * The metrics of several processes as one text in the format of Prometheus. Every series gets the label `worker`: sums
 * would fall whenever a worker is started again, and so look like a counter that was reset.
 */
import { type MetricDefinition, metricTable } from "../observability/MetricTable.ts"
import type { Collection, WorkerReport } from "./WorkerMessages.ts"

interface MetricFamily {
  /** The lines with its help and its type. */
  readonly head: Array<string>
  readonly samples: Array<string>
}

const headLine = /^# (?:HELP|TYPE) (\S+) /

/** Adds the samples of one process to the families. All samples of a family have to stand together. */
const addReport = (families: Map<string, MetricFamily>, { slot, text }: WorkerReport): void => {
  let family: MetricFamily | undefined
  let isNew = false
  let current: string | undefined
  for (const line of text.split("\n")) {
    const name = headLine.exec(line)?.[1]
    if (name !== undefined) {
      if (name !== current) {
        isNew = !families.has(name)
        family = families.get(name) ?? { head: [], samples: [] }
        families.set(name, family)
        current = name
      }
      if (isNew) family?.head.push(line)
    } else if (line !== "") family?.samples.push(labelled(line, slot))
  }
}

/** `a{b="c"} 1` and `a 1`, as series of a worker. Names have neither spaces nor braces. */
const labelled = (sample: string, slot: number): string => {
  const end = sample.search(/[{ ]/)
  const label = `worker="${slot}"`
  return sample[end] === "{"
    ? `${sample.slice(0, end)}{${label},${sample.slice(end + 1)}`
    : `${sample.slice(0, end)}{${label}}${sample.slice(end)}`
}

const familyOf = ({ help, name, type }: MetricDefinition, samples: ReadonlyArray<string>): string =>
  [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples, ""].join("\n")

/** All that a scrape answers: the metrics of the workers that reported, and of the primary. */
export const mergedMetrics = ({ reports, restarts }: Collection): string => {
  const families = new Map<string, MetricFamily>()
  for (const report of [...reports].sort((one, other) => one.slot - other.slot)) addReport(families, report)
  const { missingWorkers, workerRestarts } = metricTable
  const lines = Array.from(families.values(), ({ head, samples }) => [...head, ...samples, ""].join("\n"))
  return [
    ...lines,
    familyOf(missingWorkers, [`${missingWorkers.name} ${restarts.length - reports.length}`]),
    familyOf(
      workerRestarts,
      restarts.map((count, slot) => labelled(`${workerRestarts.name} ${count}`, slot))
    )
  ].join("")
}
