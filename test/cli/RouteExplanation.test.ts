import { assert, describe, it } from "@effect/vitest"

import { explanationOf, explanationText } from "../../src/cli/RouteExplanation.ts"
import { rankModels } from "../../src/routing/Ranking.ts"
import type { RoutingRequest } from "../../src/routing/RoutingRequest.ts"
import { routingRequestOf, flatProfile, image, modelOf, requestOf, tool } from "../routing/TestModels.ts"

const models = [
  modelOf("near", { rate: 2_000n, profiles: { high: flatProfile(0.5, { math: 0.9, coding: 0.4 }) } }),
  modelOf("nearer", { rate: 3_000n, profiles: { high: flatProfile(0.5, { math: 0.93, coding: 0.45 }) } }),
  modelOf("far", { rate: 1n, profiles: { high: flatProfile(0.1) } }),
  modelOf("plain-a", { tools: false }),
  modelOf("plain-b", { tools: false })
]

const demand = { predict: () => ({ levels: flatProfile(0, { math: 0.8, coding: 0.42 }), difficulty: 0.5 }) }

const textFor = (request: RoutingRequest, among = models) =>
  explanationText(explanationOf({ latencyMillis: 0.25, ranking: rankModels(among, request, demand) }))

describe("the explanation of a decision", () => {
  it("shows the demand, each candidate's shortfall, the excluded models with the reason, and the choice", () => {
    const request = requestOf("Hi", {
      tools: [tool],
      maxOutputTokens: 10,
      reasoning: { effort: "high", exclude: false }
    })
    const [near, nearer, far] = rankModels(models, routingRequestOf(request), demand).candidates.map(({ distance }) =>
      distance.toFixed(4)
    )
    assert.deepStrictEqual(textFor(routingRequestOf(request)), [
      "Demand      math 0.80, coding 0.42; difficulty 0.50",
      "Needs       high thinking; about 100 prompt tokens; at most 10 output tokens; tools",
      "Decided in  0.250 ms",
      "",
      "   model   band  distance  expected USD  thinks  lacks",
      `1  near       0    ${near}      0.000000  high    coding 0.02`,
      `2  nearer     0    ${nearer}      0.000000  high`,
      `3  far        1    ${far}      0.000000  high    math 0.70, coding 0.32`,
      "",
      "Refused, since the model",
      "  does not support tools: plain-a, plain-b",
      "",
      "Choice: near, the cheapest of the 2 that are near enough to what is asked"
    ])
  })

  it("states when no demand was predicted, when the tier was relaxed, and when no model can serve the request", () => {
    const lowEffort = { reasoning: { effort: "low", exclude: false } } as const
    const plain = modelOf("plain", { reasoning: { support: "none", efforts: [] } })
    const seen = textFor(routingRequestOf(requestOf([image], lowEffort)), [plain]).join("\n")
    assert.include(seen, "Demand      not looked at: the conversation has images or audio")
    assert.include(seen, "low thinking, which gives way: no model serves it; ")
    assert.include(seen, "Choice: plain, the only candidate")
    const none = textFor(routingRequestOf(requestOf("Hi"), { allowed: new Set() })).join("\n")
    assert.notInclude(none, "distance")
    assert.include(none, "Choice: none.")
  })
})
