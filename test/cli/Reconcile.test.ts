/** Compares bills with the usage of a gateway, as the operator does with `tollgate reconcile`. */
import { join } from "node:path"

import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert } from "@effect/vitest"
import { Effect, FileSystem, Result } from "effect"
import { SqlClient } from "effect/sql"

import { billedModels } from "../../src/audit/BilledModels.ts"
import { agrees, BillTotals } from "../../src/audit/Reconciliation.ts"
import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { picodollars, toUsd } from "../../src/domain/Money.ts"
import { as, eventually, user } from "../support/Chat.ts"
import { describeGateway, TestGateway, usd } from "../support/TestGateway.ts"
import { tollgate } from "./Tollgate.ts"

const exact = { amount: picodollars(0n), millionths: 0n }
const models = billedModels(Result.getOrThrow(loadCatalog()), "openai")

interface Counted {
  readonly day: string
  readonly model: string
  readonly cost: bigint
}

/** Has two models answer, and gives what the gateway counted for them, once it has. */
const traffic = Effect.fnUntraced(function* () {
  const gateway = yield* TestGateway
  const sql = yield* SqlClient.SqlClient
  const tenant = yield* gateway.tenant("1")
  for (const model of ["gpt-4.1", "gpt-4.1", "gpt-4o"]) {
    const reply = yield* gateway.chat({ model, messages: [user("Hello")], max_completion_tokens: 20 }, as(tenant))
    assert.strictEqual(reply.status, 200, reply.text)
  }
  const look = sql<{ readonly day: string; readonly model: string; readonly cost: string; readonly own: string }>`
    SELECT to_char(quarter AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model,
      sum(coalesce(provider_cost, cost))::text AS cost,
      (SELECT sum(requests) FROM usage_quarter WHERE organization_id = ${tenant.organization})::text AS own
    FROM usage_quarter WHERE provider = 'openai' GROUP BY 1, 2 ORDER BY 1, 2`
  const rows = yield* eventually(
    Effect.map(look, (found) => (found[0]?.own === "3" ? found : undefined)),
    "the usage"
  )
  return rows.map(({ cost, day, model }): Counted => ({ day, model, cost: BigInt(cost) }))
})

const lineOf = ({ cost, day, model }: Counted) => ({ day, name: model, amount: picodollars(cost) })

describeGateway("tollgate reconcile", (it) => {
  it.effect("finds what a bill has more or less than the gateway counted, and the names that it does not know", () =>
    Effect.gen(function* () {
      const counted = yield* traffic()
      const compare = Effect.fnUntraced(function* (lines: ReadonlyArray<ReturnType<typeof lineOf>>, within = exact) {
        const totals = new BillTotals(models, {})
        for (const line of lines) totals.add(line)
        return yield* totals.compareWith("openai", totals.days ?? assert.fail("no days"), within)
      })
      const lines = counted.map(lineOf)
      const same = yield* compare(lines)
      assert.deepStrictEqual([agrees(same), same.compared, same.billed], [true, counted.length, same.counted] as never)
      // A bill in two lines for a model, one of which lacks a picodollar.
      const [first = assert.fail("no usage"), ...others] = lines
      const half = picodollars(first.amount / 2n)
      const rest = { ...first, name: `${first.name}, output`, amount: picodollars(first.amount - half - 1n) }
      const short = yield* compare([{ ...first, amount: half }, rest, ...others])
      assert.deepStrictEqual(
        short.differences.map(({ billed, counted: by, model }) => [model, billed - by]),
        [[first.name, -1n]]
      )
      for (const within of [
        { amount: picodollars(1n), millionths: 0n },
        { amount: picodollars(0n), millionths: 1n }
      ])
        assert.isTrue(agrees(yield* compare([{ ...first, amount: half }, rest, ...others], within)))
      // What the bill does not have at all, and what the catalog does not.
      const missing = yield* compare([...lines.slice(1), { ...first, name: "web search", amount: picodollars(7n) }])
      assert.strictEqual(missing.differences[0]?.billed, 0n)
      assert.deepStrictEqual(missing.unknown, [{ name: "web search", lines: 1, billed: 7n }] as never)
      assert.isFalse(agrees(missing))
    })
  )

  it.effect("prints the differences as a table or JSON, and its exit code tells whether there are any", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const files = yield* FileSystem.FileSystem
      const directory = yield* files.makeTempDirectoryScoped()
      const run = Effect.fnUntraced(function* (bill: string, ...words: ReadonlyArray<string>) {
        const path = join(directory, "bill.csv")
        yield* files.writeFileString(path, `day,model,cost_usd\n${bill}`)
        return yield* tollgate(gateway.variables, ["reconcile", "--provider", "openai", "--file", path, ...words])
      })
      const counted = yield* traffic()
      const bill = counted.map(({ cost, day, model }) => `${day},${model},${toUsd(picodollars(cost))}\n`).join("")
      if (gateway.variables["DATABASE_URL"] === undefined) {
        const { code, err } = yield* run(bill)
        assert.deepStrictEqual([code, err.includes("stop that gateway")], [2, true], err)
        return
      }
      const same = yield* run(bill, "--tolerance", "0")
      assert.deepStrictEqual([same.code, same.out.includes("0 differences, 0 unknown")], [0, true], same.err)
      const [first = assert.fail("no usage")] = counted
      const more = `${bill}${first.day},${first.model},0.5\n${first.day},"=cmd",0.25\n`
      const table = yield* run(more)
      assert.strictEqual(table.code, 1, table.err)
      assert.match(table.out, new RegExp(`${first.day} +${first.model} +[0-9.]+ +[0-9.]+ +0\\.5 `))
      assert.match(table.out, /"=cmd" +1 +0\.25/)
      const report = JSON.parse((yield* run(more, "--json")).out)
      assert.deepInclude(report, { provider: "openai", agrees: false })
      assert.strictEqual(report.differences[0].difference_usd, "0.5")
      assert.strictEqual(usd(report.billed_usd) - usd(report.counted_usd), usd("0.75"))
      const vague = yield* run(bill, "--tolerance", "much")
      assert.strictEqual(vague.code, 2)
      assert.match(vague.err, /--tolerance: "much" is neither/)
      const nobody = yield* tollgate(gateway.variables, ["reconcile", "--provider", "nobody", "--file", directory])
      assert.strictEqual(nobody.code, 2)
      assert.match(nobody.err, /the catalog has no "nobody", but .*openai/)
      const broken = yield* run("2026-01-02,gpt-5,many\n")
      assert.deepStrictEqual([broken.code, broken.out], [2, ""])
      assert.match(broken.err, /line 2, cost_usd: "many" is not a decimal number/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
