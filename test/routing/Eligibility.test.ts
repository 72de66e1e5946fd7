import { assert, describe, it } from "@effect/vitest"

import type { Model } from "../../src/catalog/Model.ts"
import type { ContentPart } from "../../src/domain/Conversation.ts"
import { modelId } from "../../src/domain/Ids.ts"
import type { Effort } from "../../src/domain/Reasoning.ts"
import { exclusionOf, type Exclusion, exclusions } from "../../src/routing/Eligibility.ts"
import { requirementsOf, type RoutingRequest } from "../../src/routing/RoutingRequest.ts"
import { routingRequestOf, audio, image, modelOf, requestOf, tool, type Traits } from "./TestModels.ts"

const text: ReadonlyArray<ContentPart> = [{ type: "text", text: "Hello" }]
const withEffort = (effort: Effort) => ({ reasoning: { effort, exclude: false } })
const schema = { type: "json_schema", name: "x", strict: true, schema: {} } as const
const history = [
  { role: "assistant", content: [], toolCalls: [{ id: "1", name: "f", arguments: "{}" }], reasoningDetails: [] },
  { role: "tool", toolCallId: "1", content: text }
] as const

const asked = (effort: Effort) => routingRequestOf(requestOf("", withEffort(effort)))
const budgeted = (maxTokens: number) => routingRequestOf(requestOf("", { reasoning: { maxTokens, exclude: false } }))
const levels = (...efforts: Model["reasoning"]["efforts"]): Traits => ({ reasoning: { support: "optional", efforts } })
const budget = (min: number, max: number): Traits => ({
  reasoning: { support: "optional", efforts: [], budgetTokens: { min, max } }
})

const never: Traits = { reasoning: { support: "none", efforts: [] } }
const always: Traits = { reasoning: { support: "always", efforts: [] } }
const window = (contextWindow: number, maxOutputTokens = 500): Traits => ({
  endpoint: { contextWindow, maxOutputTokens }
})

/** A request, the properties of a model, and why the model is excluded. */
const cases: ReadonlyArray<
  readonly [name: string, request: RoutingRequest, traits: Traits, exclusion: Exclusion | undefined]
> = [
  ["an ordinary request", routingRequestOf(requestOf("Hello")), {}, undefined],
  [
    "a key for other models",
    routingRequestOf(requestOf("Hello"), { allowed: new Set([modelId("other")]) }),
    {},
    "not_allowed"
  ],
  [
    "a key for this model",
    routingRequestOf(requestOf("Hello"), { allowed: new Set([modelId("model")]) }),
    {},
    undefined
  ],
  ["an image", routingRequestOf(requestOf([image])), { modalities: { image: false, audio: true } }, "image_input"],
  ["audio", routingRequestOf(requestOf([audio])), { modalities: { image: true, audio: false } }, "audio_input"],
  ["tools", routingRequestOf(requestOf("Hello", { tools: [tool] })), { tools: false }, "tools"],
  ["tool calls of earlier turns", routingRequestOf(requestOf("", { messages: history })), { tools: false }, "tools"],
  [
    "a required tool",
    routingRequestOf(requestOf("", { tools: [tool], toolChoice: "required" })),
    { forcedToolChoice: false },
    "forced_tool_choice"
  ],
  [
    "a named tool",
    routingRequestOf(requestOf("", { tools: [tool], toolChoice: { name: "f" } })),
    { forcedToolChoice: false },
    "forced_tool_choice"
  ],
  ["optional tools", routingRequestOf(requestOf("", { tools: [tool] })), { forcedToolChoice: false }, undefined],
  [
    "a schema",
    routingRequestOf(requestOf("", { responseFormat: schema })),
    { structuredOutput: false },
    "structured_output"
  ],
  [
    "JSON of any shape",
    routingRequestOf(requestOf("", { responseFormat: { type: "json_object" } })),
    { structuredOutput: false },
    undefined
  ],
  [
    "a schema, which no endpoint enforces",
    routingRequestOf(requestOf("", { responseFormat: schema })),
    { endpoint: { structuredOutput: false } },
    "structured_output"
  ],
  [
    "a schema and tools at an endpoint that refuses both together",
    routingRequestOf(requestOf("", { responseFormat: schema, tools: [tool] })),
    { endpoint: { exclusive: [["json_schema", "tools"]] } },
    "combination"
  ],
  [
    "tools alone at that endpoint",
    routingRequestOf(requestOf("", { tools: [tool] })),
    { endpoint: { exclusive: [["json_schema", "tools"]] } },
    undefined
  ],
  [
    "a schema in a stream at an endpoint that does not stream one",
    routingRequestOf(requestOf("", { responseFormat: schema }), { stream: true }),
    { endpoint: { exclusive: [["json_schema", "stream"]] } },
    undefined
  ],
  ["low reasoning from a model with high levels alone", asked("low"), levels("high", "max"), "reasoning_tier"],
  ["minimal reasoning from a model that knows low", asked("minimal"), levels("low"), undefined],
  ["medium reasoning from a model that knows low", asked("medium"), levels("low"), "reasoning_tier"],
  ["medium reasoning from a model that knows only the highest level", asked("medium"), levels("max"), undefined],
  ["high reasoning from a model without levels", asked("high"), levels(), "reasoning_tier"],
  ["a small budget and a model with budgets", budgeted(1_500), budget(1_024, 8_000), undefined],
  ["a small budget and a model with high levels", budgeted(1_500), levels("high"), "reasoning_tier"],
  ["high reasoning from a model with small budgets", asked("high"), budget(1_024, 2_000), "reasoning_tier"],
  ["a level and a model with budgets", asked("xhigh"), budget(1_024, 32_000), undefined],
  [
    "a budget without room beside the answer",
    routingRequestOf(requestOf("", { ...withEffort("low"), maxOutputTokens: 2_000 })),
    budget(1_024, 32_000),
    "reasoning_tier"
  ],
  [
    "no reasoning from a model that always reasons",
    routingRequestOf(requestOf("", withEffort("none"))),
    always,
    "reasoning_tier"
  ],
  [
    "low reasoning from a model that never reasons",
    routingRequestOf(requestOf("", withEffort("minimal"))),
    never,
    "reasoning_tier"
  ],
  [
    "high reasoning from a model that never reasons",
    routingRequestOf(requestOf("", withEffort("high"))),
    never,
    "reasoning_tier"
  ],
  [
    "no reasoning from a model that never reasons",
    routingRequestOf(requestOf("", withEffort("none"))),
    never,
    undefined
  ],
  [
    "an open tier and a model that never reasons",
    routingRequestOf(requestOf("", { reasoning: { exclude: true } })),
    never,
    undefined
  ],
  [
    "an open tier and a model that always reasons",
    routingRequestOf(requestOf("", { reasoning: { exclude: true } })),
    always,
    undefined
  ],
  [
    "a prompt that fills the window exactly",
    routingRequestOf(requestOf("", { maxOutputTokens: 200 }), { promptTokens: 800 }),
    window(1_000),
    undefined
  ],
  [
    "one token more",
    routingRequestOf(requestOf("", { maxOutputTokens: 200 }), { promptTokens: 801 }),
    window(1_000),
    "context_window"
  ],
  [
    "an answer without a limit",
    routingRequestOf(requestOf(""), { promptTokens: 501 }),
    window(1_000),
    "context_window"
  ],
  [
    "a window no larger than the longest answer",
    routingRequestOf(requestOf(""), { promptTokens: 500 }),
    window(1_000, 1_000),
    undefined
  ],
  [
    "high reasoning from a model that never reasons, in a small window",
    routingRequestOf(requestOf("", withEffort("high")), { promptTokens: 2_500 }),
    { ...never, ...window(4_000, 4_000) },
    "reasoning_tier"
  ],
  [
    "an output limit above the model's own",
    routingRequestOf(requestOf("", { maxOutputTokens: 9_999 }), { promptTokens: 500 }),
    window(1_000),
    undefined
  ]
]

describe("Eligibility", () => {
  for (const [name, request, traits, exclusion] of cases) {
    it(`${name}: ${exclusion ?? "can be served"}`, () => {
      assert.strictEqual(exclusionOf(modelOf("model", traits), requirementsOf(request), request.allowed), exclusion)
    })
  }

  it("has a case for every exclusion", () => {
    const reasons = new Set(cases.map(([, , , exclusion]) => exclusion))
    assert.deepStrictEqual(
      exclusions.filter((known) => !reasons.has(known)),
      []
    )
  })

  it("accepts a model if the prompt fits into the window of any of its endpoints", () => {
    const {
      endpoints: [small]
    } = modelOf("model", window(1_000))
    const {
      endpoints: [large]
    } = modelOf("model", window(10_000))
    const model = { ...modelOf("model"), endpoints: [small, large] as const }
    const needs = requirementsOf(routingRequestOf(requestOf(""), { promptTokens: 5_000 }))
    assert.isUndefined(exclusionOf({ ...model, endpoints: [small, large] }, needs, undefined))
  })
})
