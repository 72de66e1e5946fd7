import { assert, describe, it } from "@effect/vitest"

import type { Catalog } from "../../src/catalog/Catalog.ts"
import { axes, type Model } from "../../src/catalog/Model.ts"
import { RouteTally } from "../../src/cli/RouteTally.ts"
import { endpointId, modelId } from "../../src/domain/Ids.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { none } from "../../src/domain/Usage.ts"
import type { Receipt, RoutingFeatures } from "../../src/receipts/Receipt.ts"
import { exclusionOf, requirementsOf } from "../../src/routing/Eligibility.ts"
import { rankModels, rankFeatures } from "../../src/routing/Ranking.ts"
import { features as plainFeatures, receiptOf } from "../receipts/receipts.ts"
import { flatProfile, modelOf } from "../routing/TestModels.ts"

/** A tally over these models, all of them served. */
const tallyOf = (models: ReadonlyArray<Model>): RouteTally => {
  const catalog: Catalog["Service"] = {
    version: "v1",
    models,
    known: models.map(({ id }) => id),
    account: () => undefined,
    lookup: (id) => {
      const model = models.find((known) => known.id === id)
      return model === undefined ? { _tag: "Unknown" } : { _tag: "Served", model }
    }
  }
  return new RouteTally(catalog, {
    rank: (ask) => rankModels(models, ask, { predict: () => assert.fail("there is no conversation") }),
    rankFeatures: (features, allowed) => rankFeatures(models, features, allowed),
    exclusionOf: (model, ask) => exclusionOf(model, requirementsOf(ask), ask.allowed)
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

/** A request that the model of old answered, for a thousand picodollars. */
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

const added = (models: ReadonlyArray<Model>, entries: ReadonlyArray<Logged>): RouteTally => {
  const tally = tallyOf(models)
  for (const entry of entries) tally.add(logged(entry))
  return tally
}

describe("the tally of a replay", () => {
  it("counts who would answer, what was expected then and now, and charges again what the model keeps", () => {
    const tally = added([a, b], [{ was: "a" }, { was: "b" }, { was: "gone" }])
    assert.deepStrictEqual(Object.fromEntries(tally.mix), {
      a: { before: 1, after: 0 },
      b: { before: 1, after: 3 },
      gone: { before: 1, after: 0 }
    })
    assert.deepStrictEqual([tally.requests, tally.replayed, tally.changed, tally.unanswerable], [3, 3, 2, 0])
    // 100 tokens of the prompt and one of the answer, at two picodollars.
    assert.deepStrictEqual(tally.expected, { requests: 3, before: picodollars(1_500n), after: picodollars(606n) })
    // Exactly the tokens that were billed.
    assert.deepStrictEqual(tally.charged, { requests: 1, before: picodollars(1_000n), after: picodollars(200n) })
    assert.deepStrictEqual(tally.moved, { requests: 2, charged: picodollars(2_000n) })
  })

  it("leaves out what it cannot route again, and says so", () => {
    const tally = tallyOf([a])
    const { features: _none, ...older } = logged({ was: "a" }).routing ?? assert.fail()
    const demand = Object.fromEntries(axes.slice(1).map((axis) => [axis, 0.5]))
    const { routing: _direct, ...direct } = logged({ was: "a" })
    tally.add("Unreadable")
    tally.add(direct)
    tally.add({ ...direct, routing: older })
    tally.add({ ...direct, routing: { ...older, features, demand } })
    // Of a conversation with an image no demand was read.
    tally.add({ ...direct, routing: { ...older, features: { ...features, image: true }, demand: {} } })
    const { notRouted, replayed, requests, unreadable, withoutFeatures } = tally
    assert.deepStrictEqual([requests, unreadable, notRouted, withoutFeatures, replayed], [5, 1, 1, 2, 1])
  })

  it("keeps to what a request needed and its key allowed", () => {
    const fits = modelOf("fits", { rate: 9n })
    const models = [
      modelOf("toolless", { tools: false, rate: 1n }),
      modelOf("tiny", { endpoint: { contextWindow: 50 } })
    ]
    const tally = added([...models, fits], [{ was: "fits", features: { tools: true } }])
    assert.strictEqual(tally.changed, 0)
    const allowed = added(
      [a, b],
      [
        { was: "a", features: { allowed: [a.id] } },
        { was: "a", features: { allowed: [] } }
      ]
    )
    assert.deepStrictEqual([allowed.changed, allowed.unanswerable], [1, 1])
  })

  it("keeps a session on its model for as long as its pin lives", () => {
    const [one, two] = [{ session: "one" }, { session: "two" }]
    const tally = added(
      [a, b, modelOf("strong", { rate: 1n, tools: false })],
      [
        { was: "a", minute: 0, features: { ...one, tools: true } },
        // The strong model is cheapest, but the session is on another one.
        { was: "a", minute: 14, features: one },
        { was: "strong", minute: 15, features: two },
        // It cannot call tools, so the session moves, and stays where it moved.
        { was: "strong", minute: 16, features: { ...two, tools: true } },
        { was: "a", minute: 17, features: two },
        // Began earlier than the log that is looked at.
        { was: "a", minute: 17, pinned: true, features: { session: "three" } },
        // Fifteen minutes after its last use the first session is a new one.
        { was: "strong", minute: 29, features: one }
      ]
    )
    assert.deepStrictEqual([tally.sessions, tally.switched], [4, 1])
    assert.deepStrictEqual(Object.fromEntries([...tally.mix].map(([id, { after }]) => [id, after])), {
      a: 1,
      b: 4,
      strong: 2
    })
  })
})
