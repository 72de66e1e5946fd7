import { assert, describe, it } from "@effect/vitest"

import type { Catalog } from "../../src/catalog/Catalog.ts"
import { axes, type Model } from "../../src/catalog/Model.ts"
import { ReplayTotals } from "../../src/cli/ReplayTotals.ts"
import { endpointId, modelId } from "../../src/domain/Ids.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { none } from "../../src/domain/Usage.ts"
import type { Receipt, RoutingFeatures } from "../../src/receipts/Receipt.ts"
import { exclusionOf } from "../../src/routing/Eligibility.ts"
import { rankModels, rankFeatures } from "../../src/routing/Ranking.ts"
import { requirementsOf } from "../../src/routing/RoutingRequest.ts"
import { features as plainFeatures, receiptOf } from "../receipts/receipts.ts"
import { flatProfile, modelOf } from "../routing/TestModels.ts"

/** Totals for a replay with these models, all of them served. */
const totalsOf = (models: ReadonlyArray<Model>): ReplayTotals => {
  const catalog: Catalog["Service"] = {
    version: "v1",
    models,
    known: models.map(({ id }) => id),
    data: { providers: new Map(), models: new Map() },
    account: () => undefined,
    lookup: (id) => {
      const model = models.find((known) => known.id === id)
      return model === undefined ? { _tag: "Unknown" } : { _tag: "Served", model }
    }
  }
  return new ReplayTotals(catalog, {
    rank: (request) => rankModels(models, request, { predict: () => assert.fail("a replay has no conversation") }),
    rankFeatures: (features, allowed) => rankFeatures(models, features, allowed),
    exclusionOf: (model, request) => exclusionOf(model, requirementsOf(request), request.allowed)
  })
}

const features: RoutingFeatures = { ...plainFeatures, outputLimit: 1 }

interface Logged {
  readonly was: string
  readonly pinned?: boolean
  readonly features?: Partial<RoutingFeatures>
  readonly minute?: number
  readonly parts?: Partial<Receipt>
}

/** The receipt of a request that the model `was` answered, for a thousand picodollars. */
const logged = (entry: Logged): Receipt => {
  const model = modelId(entry.was)
  const endpoint = endpointId(`acme/${entry.was}`)
  return {
    ...receiptOf(1),
    atMillis: (entry.minute ?? 0) * 60_000,
    served: { model, endpoint },
    attempts: [{ model, endpoint, outcome: "answered", latencyMillis: 1 }],
    usage: { ...none, input: 90, output: 10 },
    cost: picodollars(1_000n),
    routing: {
      latencyMillis: 1,
      pinned: entry.pinned ?? false,
      demand: flatProfile(0.5),
      difficulty: 0.5,
      features: { ...features, ...entry.features },
      candidates: [{ model, distance: 0, cost: picodollars(500n) }],
      excluded: []
    },
    ...entry.parts
  }
}

const [a, b] = [modelOf("a", { rate: 3n }), modelOf("b", { rate: 2n })]

const added = (models: ReadonlyArray<Model>, entries: ReadonlyArray<Logged>): ReplayTotals => {
  const totals = totalsOf(models)
  for (const entry of entries) totals.add(logged(entry))
  return totals
}

describe("the totals of a replay", () => {
  it("count which models would answer, the expected costs, and the charges of requests that keep their model", () => {
    const totals = added([a, b], [{ was: "a" }, { was: "b" }, { was: "gone" }])
    assert.deepStrictEqual(Object.fromEntries(totals.models), {
      a: { before: 1, after: 0 },
      b: { before: 1, after: 3 },
      gone: { before: 1, after: 0 }
    })
    assert.deepStrictEqual([totals.requests, totals.replayed, totals.changed, totals.unanswerable], [3, 3, 2, 0])
    // 100 tokens of the prompt and one of the answer, at two picodollars.
    assert.deepStrictEqual(totals.expected, { requests: 3, before: picodollars(1_500n), after: picodollars(606n) })
    // Exactly the tokens that were billed.
    assert.deepStrictEqual(totals.charged, { requests: 1, before: picodollars(1_000n), after: picodollars(200n) })
    assert.deepStrictEqual(totals.otherModel, { requests: 2, charged: picodollars(2_000n) })
  })

  it("count the requests that cannot be routed again", () => {
    const totals = totalsOf([a])
    const { features: _none, ...older } = logged({ was: "a" }).routing ?? assert.fail()
    const demand = Object.fromEntries(axes.slice(1).map((axis) => [axis, 0.5]))
    const { routing: _direct, ...direct } = logged({ was: "a" })
    totals.add("Unreadable")
    totals.add(direct)
    totals.add({ ...direct, routing: older })
    totals.add({ ...direct, routing: { ...older, features, demand } })
    // No demand is predicted for a conversation with an image.
    totals.add({ ...direct, routing: { ...older, features: { ...features, image: true }, demand: {} } })
    const { notRouted, replayed, requests, unreadable, withoutFeatures } = totals
    assert.deepStrictEqual([requests, unreadable, notRouted, withoutFeatures, replayed], [5, 1, 1, 2, 1])
  })

  it("respect what a request required and what its key allowed", () => {
    const fits = modelOf("fits", { rate: 9n })
    const models = [
      modelOf("toolless", { tools: false, rate: 1n }),
      modelOf("tiny", { endpoint: { contextWindow: 50 } })
    ]
    const totals = added([...models, fits], [{ was: "fits", features: { tools: true } }])
    assert.strictEqual(totals.changed, 0)
    const allowed = added(
      [a, b],
      [
        { was: "a", features: { allowed: [a.id] } },
        { was: "a", features: { allowed: [] } }
      ]
    )
    assert.deepStrictEqual([allowed.changed, allowed.unanswerable], [1, 1])
  })

  it("keep a session on its model for as long as its pin lives", () => {
    const [one, two] = [{ session: "one" }, { session: "two" }]
    const totals = added(
      [a, b, modelOf("strong", { rate: 1n, tools: false })],
      [
        { was: "a", minute: 0, features: { ...one, tools: true } },
        // The strong model is cheapest, but the session is on another one.
        { was: "a", minute: 14, features: one },
        { was: "strong", minute: 15, features: two },
        // It cannot call tools, so the session moves, and stays where it moved.
        { was: "strong", minute: 16, features: { ...two, tools: true } },
        { was: "a", minute: 17, features: two },
        // This session began before the first replayed request.
        { was: "a", minute: 17, pinned: true, features: { session: "three" } },
        // Fifteen minutes after its last use the first session is a new one.
        { was: "strong", minute: 29, features: one }
      ]
    )
    assert.deepStrictEqual([totals.sessions, totals.switched], [4, 1])
    assert.deepStrictEqual(Object.fromEntries([...totals.models].map(([id, { after }]) => [id, after])), {
      a: 1,
      b: 4,
      strong: 2
    })
  })
})
