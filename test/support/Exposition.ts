/**
 * A strict parser of Prometheus' text format, version 0.0.4. It refuses what Prometheus itself may let pass: a sample
 * before its TYPE, a family in two places, a series twice, a histogram that does not add up.
 */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly type: string
  readonly help: string | undefined
  readonly samples: Array<Sample>
}

const metricName = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const helpLine = new RegExp(`^# HELP (${metricName}) (.+)$`)
const typeLine = new RegExp(`^# TYPE (${metricName}) (counter|gauge|histogram)$`)
const sampleLine = new RegExp(`^(${metricName})(?:\\{(.*)\\})? (\\S+)$`)
const labelText = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y
const numberText = /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]Inf|NaN)$/

const labelsOf = (text: string, line: string): Record<string, string> => {
  const labels: Record<string, string> = {}
  labelText.lastIndex = 0
  while (labelText.lastIndex < text.length) {
    const [, name = "", value = ""] = labelText.exec(text) ?? []
    if (name === "" || name in labels) throw new Error(`labels: ${line}`)
    labels[name] = value.replaceAll(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : String(escaped)))
  }
  return labels
}

const sampleOf = (line: string): Sample => {
  const [, name = "", labels = "", value = ""] = sampleLine.exec(line) ?? []
  if (!numberText.test(value)) throw new Error(`no sample: ${line}`)
  return { name, labels: labelsOf(labels, line), value: Number(value.replace("Inf", "Infinity")) }
}

const suffixes = ["_bucket", "_sum", "_count"]
const allowedNames = ({ name, type }: Family): ReadonlyArray<string> =>
  type === "histogram" ? suffixes.map((suffix) => name + suffix) : [name]

/** The families by name. Throws with the line or the series that is wrong. */
export const parseExposition = (text: string): ReadonlyMap<string, Family> => {
  if (!text.endsWith("\n")) throw new Error("the last line does not end")
  const families = new Map<string, Family>()
  let current: Family | undefined
  let help: RegExpExecArray | null = null
  for (const line of text.slice(0, -1).split("\n")) {
    const found = helpLine.exec(line)
    const [, name = "", type = ""] = typeLine.exec(line) ?? []
    if (found !== null) help = found
    else if (name !== "") {
      if (families.has(name)) throw new Error(`twice: ${line}`)
      if (help !== null && help[1] !== name) throw new Error(`HELP of ${help[1]} before ${line}`)
      current = { name, type, help: help?.[2], samples: [] }
      families.set(name, current)
      help = null
    } else {
      const sample = sampleOf(line)
      if (current === undefined || !allowedNames(current).includes(sample.name)) throw new Error(`no TYPE: ${line}`)
      current.samples.push(sample)
    }
  }
  for (const family of families.values()) checkFamily(family)
  return families
}

const keyOf = ({ labels, name }: Sample): string => JSON.stringify([name, Object.entries(labels).sort()])

const checkFamily = (family: Family): void => {
  const keys = family.samples.map(keyOf)
  if (new Set(keys).size < keys.length) throw new Error(`${family.name}: a series twice`)
  if (family.type !== "gauge" && family.samples.some(({ value }) => !(value >= 0)))
    throw new Error(`${family.name}: below zero`)
  if (family.type === "histogram") checkHistogram(family)
}

const checkHistogram = ({ name, samples }: Family): void => {
  const series = Object.groupBy(samples, ({ labels: { le: _le, ...labels } }) => JSON.stringify(labels))
  for (const [labels, of = []] of Object.entries(series)) {
    const buckets = of.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels: { le = "" } }) => Number(le.replace("Inf", "Infinity")))
    const counts = buckets.map(({ value }) => value)
    const isAscending = (values: ReadonlyArray<number>) =>
      values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0))
    const total = of.find((sample) => sample.name === `${name}_count`)?.value
    const hasSum = of.some((sample) => sample.name === `${name}_sum`)
    if (!isAscending(bounds) || !isAscending(counts) || bounds.at(-1) !== Infinity || !hasSum)
      throw new Error(`${name}${labels}: not a histogram`)
    if (total === undefined || counts.at(-1) !== total) throw new Error(`${name}${labels}: does not add up`)
  }
}

/** The sum of the samples of this name that have at least these labels. */
export const sumOf = (
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {}
): number =>
  [...families.values()]
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)
