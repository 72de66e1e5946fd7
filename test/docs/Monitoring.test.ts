/**
 * The alert rules and the dashboard ask for metrics and labels that `/metrics` has. Whether their expressions parse is
 * for `promtool`, which is not on every machine.
 */
import { assert, describe, it } from "@effect/vitest"

import { type MetricDefinition, metricTable } from "../../src/observability/MetricTable.ts"
import { readText } from "../support/SourceTree.ts"

const textOf = (path: string): string => readText(path) ?? assert.fail(`there is no ${path}`)

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly datasource?: { readonly uid: string }
  readonly targets?: ReadonlyArray<{ readonly refId: string; readonly expr: string; readonly legendFormat: string }>
}

interface Dashboard {
  readonly uid: string
  readonly schemaVersion: number
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string }> }
  readonly panels: ReadonlyArray<Panel>
}

const alerts = textOf("deploy/prometheus/alerts.yml")
const rules = alerts.split(/^ +- alert: /m).slice(1)
const alertNames = rules.map((rule) => rule.split("\n")[0] ?? "")
const dashboard = JSON.parse(textOf("deploy/grafana/tollgate.json")) as Dashboard
const targets = dashboard.panels.flatMap((panel) => panel.targets ?? [])
const expressions = [
  ...Array.from(alerts.matchAll(/^ +expr: (.+)$/gm), ([, expression = ""]) => expression),
  ...targets.map(({ expr }) => expr)
]

/** What a scrape adds to every series. */
const scrapeLabels = ["instance", "job"]

const sampleNames = ({ name, type }: MetricDefinition): ReadonlyArray<string> =>
  type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]

const known = new Map(
  Object.values<MetricDefinition>(metricTable).flatMap((definition) =>
    sampleNames(definition).map((name) => [name, definition])
  )
)

/** The metrics in an expression, each with the labels that it is selected by. */
const selectorsIn = (expression: string) =>
  Array.from(
    expression.matchAll(/\b((?:tollgate|nodejs|process)_\w+|up)\b(?:\{([^}]*)\})?/g),
    ([, name = "", matchers = ""]) => ({
      name,
      labels: Array.from(matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g), ([, label = ""]) => label)
    })
  )

const groupingIn = (expression: string): ReadonlyArray<string> =>
  Array.from(expression.matchAll(/\bby \(([^)]*)\)/g), ([, labels = ""]) => labels.split(/\s*,\s*/)).flat()

describe("The alert rules and the dashboard", () => {
  it("name metrics of the gateway, with labels that they have", () => {
    assert.isAbove(expressions.length, 40)
    for (const expression of expressions) {
      const selectors = selectorsIn(expression)
      assert.isNotEmpty(selectors, expression)
      for (const { labels, name } of selectors.filter((selector) => selector.name !== "up")) {
        const definition = known.get(name)
        if (definition === undefined) return assert.fail(`${name} is no metric: ${expression}`)
        const allowed = [...scrapeLabels, ...(definition.labels ?? []), ...(name.endsWith("_bucket") ? ["le"] : [])]
        assert.includeMembers(allowed, [...labels, ...groupingIn(expression)], expression)
      }
    }
  })

  it("show every metric that is not of the process", () => {
    const shown = new Set(expressions.flatMap(selectorsIn).map(({ name }) => known.get(name)?.name))
    for (const { name } of Object.values(metricTable))
      if (name.startsWith("tollgate_")) assert.isTrue(shown.has(name), name)
  })

  it("have a severity and say what is wrong and what to do", () => {
    assert.strictEqual(new Set(alertNames).size, alertNames.length)
    for (const rule of rules) {
      assert.match(rule, /^ +expr: /m)
      assert.match(rule, /severity: (?:critical|warning) /)
      assert.match(rule, /^ +summary: "[^"]+"\n +description: "[^"]+"$/m)
    }
  })

  it("are proved by tests that name alerts which exist", () => {
    const proved = Array.from(
      textOf("deploy/prometheus/alerts.test.yml").matchAll(/alertname: (\w+)/g),
      ([, name = ""]) => name
    )
    assert.includeMembers(alertNames, proved)
  })

  it("make a dashboard whose panels have their own ids and places, and a data source of the reader's", () => {
    const { panels, schemaVersion, templating, uid } = dashboard
    assert.deepStrictEqual([uid, schemaVersion], ["tollgate", 39])
    assert.deepStrictEqual(
      templating.list.map(({ name }) => name),
      ["datasource", "instance"]
    )
    assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
    const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) => {
      assert.isAtMost(x + w, 24)
      return Array.from({ length: h * w }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`)
    })
    assert.strictEqual(new Set(cells).size, cells.length, "panels overlap")
    for (const { datasource, targets: asked = [], title, type } of panels.filter((panel) => panel.type !== "row")) {
      assert.include(["timeseries", "state-timeline"], type, title)
      assert.strictEqual(datasource?.uid, "${datasource}", title)
      assert.isNotEmpty(asked, title)
      assert.strictEqual(new Set(asked.map(({ refId }) => refId)).size, asked.length, title)
    }
  })
})
