/** `tollgate route replay` on the request log of a gateway, and what a gateway logs for it. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"

import { Catalog, loadReplacementCatalog, servedCatalog } from "../../src/catalog/Catalog.ts"
import { axes } from "../../src/catalog/Model.ts"
import * as Accounts from "../../src/catalog/ProviderAccounts.ts"
import { replayJson, replayed, replayText } from "../../src/cli/RouteReplay.ts"
import { modelId } from "../../src/domain/Ids.ts"
import type { RoutingFeatures } from "../../src/receipts/Receipt.ts"
import { RequestLog } from "../../src/receipts/RequestLog.ts"
import { Router } from "../../src/routing/Router.ts"
import { Database } from "../../src/sql/Database.ts"
import { features, receiptOf } from "../receipts/receipts.ts"
import { flatProfile } from "../routing/TestModels.ts"
import { as, eventually, timeTool, user } from "../support/Chat.ts"
import { whileTimePasses } from "../support/PassingTime.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"
import { tollgate } from "./Tollgate.ts"

/** One model that supports everything, at one USD per million tokens. */
const catalogText = JSON.stringify({
  models: [
    {
      id: "only",
      context_window: 100_000,
      max_output: 1_000,
      input: ["text", "image"],
      reasoning: { support: "optional" },
      endpoints: [{ provider: "openai", price_usd_per_mtok: { input: 1, output: 1 } }],
      profiles: { high: Object.fromEntries(axes.map((axis) => [axis, 1])) }
    }
  ]
})

const layerOnly = Layer.provideMerge(
  Router.layer,
  Layer.effect(
    Catalog,
    Effect.map(Effect.fromResult(loadReplacementCatalog(catalogText)), (data) =>
      Catalog.of(
        servedCatalog(
          data,
          Accounts.simulated(data.providers.values(), () => "")
        )
      )
    )
  )
)

/** Requests a second apart. Every third was not routed, and number 0 was routed without features. */
const loggedReceipt = (number: number) => ({
  ...receiptOf(number),
  atMillis: number * 1_000,
  ...(number % 3 !== 2 && {
    routing: {
      latencyMillis: 1,
      pinned: false,
      demand: flatProfile(0.5),
      difficulty: 0.5,
      ...(number > 0 && { features }),
      candidates: [{ model: modelId("gpt-5-mini"), distance: 0, cost: receiptOf(number).cost }],
      excluded: []
    }
  })
})

const logged = 1_200

describeOnEngines("tollgate route replay", (suite) => {
  suite.layer(Layer.mergeAll(RequestLog.layer, layerOnly))((it) => {
    it.effect("routes the last requests of the log again, page by page, and no others", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const sql = yield* SqlClient.SqlClient
        for (let number = 0; number < logged; number++) yield* log.record(loggedReceipt(number))
        const stored = sql<{ readonly n: number }>`SELECT count(*)::int AS n FROM logged_request`
        yield* whileTimePasses(Effect.repeat(stored, { until: ([row]) => row?.n === logged }))

        const last = replayJson(yield* replayed(1_001), "v1")
        assert.deepStrictEqual(
          [last.requests, last.replayed, last.skipped.not_routed, last.skipped.without_features],
          [1_001, 667, 334, 0]
        )
        assert.deepStrictEqual([last.from, last.to], ["1970-01-01T00:03:19.000Z", "1970-01-01T00:19:59.000Z"])
        assert.deepStrictEqual(last.models, [
          { model: modelId("only"), before: 0, after: 667 },
          { model: modelId("gpt-5-mini"), before: 667, after: 0 }
        ])
        assert.deepStrictEqual(last.expected_usd, { requests: 667, before: "0.0283475", after: "0.07337" })
        assert.deepStrictEqual(last.charged_usd.other_model, { requests: 667, before: "0.0283475" })

        yield* sql`UPDATE logged_request SET detail = '{"attempts":"the future"}' WHERE id = ${receiptOf(2).id}`
        const all = yield* replayed(5_000)
        const { skipped } = replayJson(all, "v1")
        assert.deepStrictEqual(skipped, { not_routed: 399, without_features: 1, unreadable: 1 })
        const text = replayText(all, "v1").join("\n")
        assert.include(text, "1200 requests, 1970-01-01T00:00:00.000Z to 1970-01-01T00:19:59.000Z; catalog v1")
        assert.match(text, /^only +0 +0\.0% +799 +100\.0%$/m)
        assert.include(text, "Another model: 799 requests (100.0%), of which 0 none could answer")
      })
    )

    it.effect("replays nothing from an empty log", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`TRUNCATE logged_request`
        assert.strictEqual(replayJson(yield* replayed(10), "v1").requests, 0)
      })
    )
  })
})

const secret = "the treasure is buried under the third palm"
const requests = [
  { messages: [user(secret)], session_id: "thread-of-the-pirate", max_tokens: 200 },
  { messages: [user(secret)], session_id: "thread-of-the-pirate", tools: [timeTool], reasoning_effort: "none" },
  { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://x.test/a.png" } }] }] },
  { model: "gpt-4o", messages: [user(secret)] }
]

describeGateway("What a gateway logs for a replay", (it) => {
  it.effect("is the features that the router ranked by, and no text of the conversation", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const sql = yield* SqlClient.SqlClient
      const tenant = yield* gateway.tenant("1")
      for (const body of requests) yield* gateway.chat(body, as(tenant))
      const rows = yield* eventually(
        sql<{ readonly features: RoutingFeatures | null; readonly text: string }>`
          SELECT receipt #> '{routing,features}' AS features, receipt::text AS text FROM request_receipt
          WHERE organization_id = ${tenant.organization} ORDER BY id`.pipe(
          Effect.map((found) => (found.length === requests.length ? found : undefined))
        ),
        "all receipts"
      )
      const [first, second, third, direct] = rows.map(({ features }) => features)
      const plain = { image: false, audio: false, tools: false, forcedTool: false, structuredOutput: false }
      assert.deepInclude(first, { ...plain, tier: "high", outputLimit: 200, audioTokens: 0 })
      assert.isTrue((first?.promptTokens ?? 0) > 5 && (first?.promptTokens ?? 0) < 30)
      assert.deepInclude(second, { ...plain, tools: true, tier: "none" })
      assert.match(String(first?.session), /^[0-9a-f]{40}$/)
      assert.strictEqual(second?.session, first?.session)
      assert.deepInclude(third, { ...plain, image: true, tier: "high" })
      assert.deepStrictEqual([third?.session, direct], [undefined, null])
      for (const { text } of rows) {
        for (const word of ["treasure", "palm", "pirate", "get_time", "x.test"]) assert.notInclude(text, word)
      }
    })
  )

  it.effect("can be replayed beside a running gateway on PostgreSQL, with another catalog", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const { engine } = yield* Database
      const file = join(inject("scratch"), `replay-catalog-${process.pid}.json`)
      writeFileSync(file, catalogText)
      const replay = ["route", "replay", "--json"]
      const found = yield* tollgate(gateway.variables, [...replay, "--catalog", file])
      if (engine === "embedded") {
        assert.deepStrictEqual([found.code, found.out], [2, ""])
        assert.match(found.err, /A running gateway has the embedded database .*: stop that gateway/)
        return
      }
      assert.deepStrictEqual([found.code, found.err], [0, ""])
      const { models, replayed, requests, sessions, skipped } = JSON.parse(found.out)
      assert.deepStrictEqual([requests, replayed, skipped.not_routed, sessions], [4, 3, 1, { seen: 1, switched: 1 }])
      assert.deepStrictEqual(models[0], { model: "only", before: 0, after: 3 })

      const unchanged = JSON.parse((yield* tollgate(gateway.variables, replay)).out)
      assert.deepStrictEqual([unchanged.replayed, unchanged.changed, unchanged.sessions.switched], [3, 0, 0])
      for (const { after, before, requests } of [unchanged.expected_usd, unchanged.charged_usd.same_model]) {
        assert.deepStrictEqual([requests > 0, after], [true, before])
      }
    })
  )
})
