/** Bills as providers export them: what is read of them, which model a line is for, and what is refused. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result, Schema } from "effect"

import { billedModels, suffixRules } from "../../src/audit/BilledModels.ts"
import { type BillLine, readBill } from "../../src/audit/BillFile.ts"
import type { BillSource } from "../../src/audit/BillFormats.ts"
import { amountOf, utcDay } from "../../src/audit/BillText.ts"
import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { picodollars, toUsd } from "../../src/domain/Money.ts"

/** Reads a bill from a file with this content. */
const read = Effect.fnUntraced(function* (source: BillSource | undefined, content: string | Uint8Array) {
  const files = yield* FileSystem.FileSystem
  const path = yield* files.makeTempFileScoped()
  yield* files.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content)
  const lines: Array<BillLine> = []
  yield* readBill({ path, source }, (some) => Effect.sync(() => void lines.push(...some)))
  return lines.map(({ amount, day, name }) => `${day} ${name} ${toUsd(amount)}`)
}, Effect.scoped)

const refusal = (source: BillSource | undefined, content: string | Uint8Array) =>
  Effect.map(Effect.flip(read(source, content)), ({ message }) => message)

const openaiCsv = `start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item,project_id
1759622400,1759708800,2025-10-05T00:00:00+00:00,2025-10-06T00:00:00+00:00,0.8958740000000000,usd,"gpt-5-mini, input",
1759968000,1760054400,2025-10-09T00:00:00+00:00,2025-10-10T00:00:00+00:00,,,,
1759968000,1760054400,2025-10-10T00:00:00+00:00,2025-10-11T00:00:00+00:00,1e-7,usd,"gpt-5-mini-2025-08-07, output",
`
const openaiRows = ["2025-10-05 gpt-5-mini, input 0.895874", "2025-10-10 gpt-5-mini-2025-08-07, output 0.0000001"]

const openaiJson = `{"object": "page", "has_more": false, "next_page": null, "data": [{"object": "bucket",
  "start_time": 1730419200, "end_time": 1730505600, "results": [{"object": "organization.costs.result",
  "amount": {"value": 0.060000000000000001, "currency": "usd"}, "line_item": "gpt-4o, input", "project_id": null}]}]}`

const anthropicCsv =
  "usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type\n" +
  "2026-03-15,Claude Opus 4.6,Default,one,message,≤ 200k,output,0.50,0.50,token\n"

const anthropicJson = `{"has_more": false, "next_page": null, "data": [{"starting_at": "2025-08-01T00:00:00Z",
  "ending_at": "2025-08-02T00:00:00Z", "results": [{"currency": "USD", "amount": "123.78912",
  "description": "Claude Sonnet 4.5 Usage - Input Tokens", "model": "claude-sonnet-4-5-20250929"}]}]}`

const activityCsv =
  "Date,Slug,Usage,BYOK Usage,Requests\n" + '"2026-05-12 00:00:00","anthropic/claude-opus-4.7","430.07","0","4115"\n'

const generationsCsv =
  "generation_id,created_at,cost_total,model_permaslug,provider_name\n" +
  "gen-1,2026-05-12 23:59:59.125,0.00042,openai/gpt-4.1-2025-04-14,OpenAI\n"

const activityJson =
  '{"data": [{"date": "2025-08-24", "model": "openai/gpt-4.1", "provider_name": "OpenAI", "usage": 0.015}]}'

const neutralCsv = "day,model,cost_usd\n2026-01-02,gpt-5,1.5\n"

describe("A bill", () => {
  it.effect("is read in every form in which it is exported", () =>
    Effect.gen(function* () {
      const known: ReadonlyArray<readonly [BillSource | undefined, string, ReadonlyArray<string>]> = [
        ["openai", openaiCsv, openaiRows],
        ["openai", openaiJson, ["2024-11-01 gpt-4o, input 0.06"]],
        ["openai", `[${openaiJson},${openaiJson}]`, Array(2).fill("2024-11-01 gpt-4o, input 0.06")],
        ["anthropic", anthropicCsv, ["2026-03-15 Claude Opus 4.6 0.5"]],
        ["anthropic", anthropicJson, ["2025-08-01 claude-sonnet-4-5-20250929 1.2378912"]],
        ["openrouter", activityCsv, ["2026-05-12 anthropic/claude-opus-4.7 430.07"]],
        ["openrouter", generationsCsv, ["2026-05-12 openai/gpt-4.1-2025-04-14 0.00042"]],
        ["openrouter", activityJson, ["2025-08-24 openai/gpt-4.1 0.015"]],
        ["openai", neutralCsv, ["2026-01-02 gpt-5 1.5"]],
        [undefined, neutralCsv, ["2026-01-02 gpt-5 1.5"]]
      ]
      for (const [source, content, rows] of known) assert.deepStrictEqual(yield* read(source, content), rows, content)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("is read as spreadsheets save it: with a BOM, semicolons or tabs, CRLF and quotes", () =>
    Effect.gen(function* () {
      const rows = yield* read(undefined, neutralCsv)
      const saved = [`\uFEFF${neutralCsv}`, neutralCsv.replaceAll(",", ";"), neutralCsv.replaceAll(",", "\t")]
      for (const content of saved) {
        assert.deepStrictEqual(yield* read(undefined, content), rows)
        assert.deepStrictEqual(yield* read(undefined, content.replaceAll("\n", "\r\n")), rows)
      }
      assert.deepStrictEqual(yield* read(undefined, neutralCsv.replace("gpt-5", '"gpt-5"')), rows)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("is refused with the line and the column of what cannot be read", () =>
    Effect.gen(function* () {
      const heading = "day,model,cost_usd\n"
      const bad: ReadonlyArray<readonly [BillSource | undefined, string | Uint8Array, RegExp]> = [
        [undefined, "", /is empty/],
        [undefined, "a,b\n1,2\n", /line 1: it needs the columns day, model, cost_usd. It has "a", "b"/],
        [undefined, "day,day,model,cost_usd\n", /line 1: the column day is there twice/],
        [undefined, `${heading}2026-01-02,a,1\n2026-01-02,a\n`, /line 3: it has 2 cells, and the heading 3/],
        [undefined, `${heading}2026-02-30,a,1\n`, /line 2, day: "2026-02-30" is not a day/],
        [undefined, `${heading}02.01.2026,a,1\n`, /line 2, day/],
        [undefined, `${heading}2026-01-02,"two\nlines",1\n2026-01-02,b,x\n`, /line 4, cost_usd: "x" is not/],
        [undefined, "day;model;cost_usd\n2026-01-02;a;0,5\n", /line 2, cost_usd: "0,5" .* decimals have a point/],
        [undefined, `${heading}2026-01-02,a,=1+1\n`, /line 2, cost_usd: "=1\+1" is not a decimal number/],
        [undefined, `${heading}2026-01-02,a,NaN\n`, /line 2, cost_usd/],
        [undefined, `${heading}2026-01-02,"a,1\n`, /line 2/],
        [undefined, new Uint8Array(Buffer.from(neutralCsv, "utf16le")), /not UTF-8/],
        ["openai", openaiCsv.replace(",usd,", ",eur,"), /line 2, amount_currency: "eur" is not usd/],
        ["openai", openaiJson.replace("false", "true"), /has_more: true/],
        ["openai", '{"object": "error"}', /page 1 has no list data/],
        ["openai", "{", /neither JSON nor CSV/],
        ["anthropic", anthropicJson.replace("123.78912", "a lot"), /page 1, data\[0\], amount: "a lot"/],
        [undefined, openaiJson, /write it as CSV/]
      ]
      for (const [source, content, message] of bad) assert.match(yield* refusal(source, content), message)
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("is read in pieces, however long it is", () =>
    Effect.gen(function* () {
      const row = "2026-01-02,gpt-5,0.000000000001\n"
      const lines = yield* read(undefined, `day,model,cost_usd\n${row.repeat(20_000)}`)
      assert.strictEqual(lines.length, 20_000)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})

describe("The amounts of a bill", () => {
  it.prop(
    "are exact to the picodollar",
    { amount: Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: -(10n ** 20n), maximum: 10n ** 20n })) },
    ({ amount }) => {
      const usd = toUsd(picodollars(amount))
      assert.strictEqual(amountOf(usd), amount)
      assert.strictEqual(amountOf(`${usd}${usd.includes(".") ? "" : "."}0000`), amount)
      assert.strictEqual(amountOf(`${usd}e2`, 2), amount)
    }
  )

  it("are rounded to the nearest picodollar", () => {
    const texts = ["0.0000000000014", "0.0000000000015", "-0.0000000000015", "5e-13", "4e-13"]
    assert.deepStrictEqual(
      texts.map((text) => amountOf(text)),
      [1n, 2n, -2n, 1n, 0n] as never
    )
    for (const text of ["", ".", "1,5", "$1", "0x1", "Infinity", "1e999", "--1"]) assert.isUndefined(amountOf(text))
  })

  it("are of days in UTC", () => {
    const days = ["2026-03-15", "2026-03-15 00:00:00", "2026-03-15T23:30:00-01:00", "2026-03-15T00:30:00+0100"]
    assert.deepStrictEqual(days.map(utcDay), ["2026-03-15", "2026-03-15", "2026-03-16", "2026-03-14"])
    for (const text of ["", "2026-13-01", "15/03/2026", "2026-03-15x", "1759622400"]) assert.isUndefined(utcDay(text))
  })
})

describe("The names in a bill", () => {
  it("mean models of the catalog at that provider, and nothing else", () => {
    const catalog = Result.getOrThrow(loadCatalog())
    const [openai, anthropic] = [billedModels(catalog, "openai"), billedModels(catalog, "anthropic")]
    const names = ["gpt-4o-2024-08-06, input", "gpt-4o, cached input", "gpt-5-mini-2025-08-07", "GPT-5", "gpt-4.1"]
    assert.deepStrictEqual(names.map(openai), ["gpt-4o", "gpt-4o", "gpt-5-mini", "gpt-5", "gpt-4.1"] as never)
    const claudes = ["claude-sonnet-4-5-20250929", "Claude Opus 4.6", "anthropic/claude-opus-4.7", "Claude Haiku 4.5"]
    const [sonnet, opus, newer, haiku] = claudes.map(anthropic)
    assert.match(String(sonnet), /sonnet-4.5$/)
    assert.match(String(opus), /opus-4.6$/)
    assert.match(String(newer), /opus-4.7$/)
    assert.match(String(haiku), /haiku-4.5$/)
    for (const name of ["", "gpt-5x", "web search", "claude-opus-4-6", "dall-e-3"]) assert.isUndefined(openai(name))
  })

  it("end in what the rules give as examples", () => {
    for (const { example, suffix } of suffixRules) assert.match(example, suffix)
  })
})
