import { assert, describe, it } from "@effect/vitest"

import type { ContentPart } from "../../src/domain/Conversation.ts"
import { modelId } from "../../src/domain/Ids.ts"
import type { Effort } from "../../src/domain/Reasoning.ts"
import { exclusionOf, requirementsOf, type Exclusion, exclusions } from "../../src/routing/Eligibility.ts"
import type { RoutingRequest } from "../../src/routing/RoutingRequest.ts"
import { askOf, audio, image, modelOf, requestOf, tool, type Traits } from "./TestModels.ts"

const text: ReadonlyArray<ContentPart> = [{ type: "text", text: "Hello" }]
const thinking = (effort: Effort) => ({ reasoning: { effort, exclude: false } })
const schema = { type: "json_schema", name: "x", strict: true, schema: {} } as const
const history = [
  { role: "assistant", content: [], toolCalls: [{ id: "1", name: "f", arguments: "{}" }], reasoningDetails: [] },
  { role: "tool", toolCallId: "1", content: text }
] as const

const never: Traits = { reasoning: { support: "none", efforts: [] } }
const always: Traits = { reasoning: { support: "always", efforts: [] } }
const window = (contextWindow: number, maxOutputTokens = 500): Traits => ({
  endpoint: { contextWindow, maxOutputTokens }
})

/** What the request asks, what the model is like, and the verdict. */
const verdicts: ReadonlyArray<readonly [name: string, ask: RoutingRequest, traits: Traits, Exclusion | undefined]> = [
  ["an ordinary request", askOf(requestOf("Hello")), {}, undefined],
  ["a key for other models", askOf(requestOf("Hello"), { allowed: new Set([modelId("other")]) }), {}, "not_allowed"],
  ["a key for this model", askOf(requestOf("Hello"), { allowed: new Set([modelId("model")]) }), {}, undefined],
  ["an image", askOf(requestOf([image])), { modalities: { image: false, audio: true } }, "image_input"],
  ["audio", askOf(requestOf([audio])), { modalities: { image: true, audio: false } }, "audio_input"],
  ["tools", askOf(requestOf("Hello", { tools: [tool] })), { tools: false }, "tools"],
  ["tool calls of earlier turns", askOf(requestOf("", { messages: history })), { tools: false }, "tools"],
  [
    "a required tool",
    askOf(requestOf("", { tools: [tool], toolChoice: "required" })),
    { forcedToolChoice: false },
    "forced_tool_choice"
  ],
  [
    "a named tool",
    askOf(requestOf("", { tools: [tool], toolChoice: { name: "f" } })),
    { forcedToolChoice: false },
    "forced_tool_choice"
  ],
  ["tools at will", askOf(requestOf("", { tools: [tool] })), { forcedToolChoice: false }, undefined],
  ["a schema", askOf(requestOf("", { responseFormat: schema })), { structuredOutput: false }, "structured_output"],
  [
    "JSON of any shape",
    askOf(requestOf("", { responseFormat: { type: "json_object" } })),
    { structuredOutput: false },
    undefined
  ],
  ["no thinking of a model that must", askOf(requestOf("", thinking("none"))), always, "reasoning_tier"],
  ["little thinking of a model that cannot", askOf(requestOf("", thinking("minimal"))), never, "reasoning_tier"],
  ["much thinking of a model that cannot", askOf(requestOf("", thinking("high"))), never, "reasoning_tier"],
  ["no thinking of a model that cannot", askOf(requestOf("", thinking("none"))), never, undefined],
  [
    "thinking left open, of a model that cannot",
    askOf(requestOf("", { reasoning: { exclude: true } })),
    never,
    undefined
  ],
  [
    "thinking left open, of a model that must",
    askOf(requestOf("", { reasoning: { exclude: true } })),
    always,
    undefined
  ],
  [
    "a prompt that fills the window to the brim",
    askOf(requestOf("", { maxOutputTokens: 200 }), { promptTokens: 800 }),
    window(1_000),
    undefined
  ],
  [
    "one token more",
    askOf(requestOf("", { maxOutputTokens: 200 }), { promptTokens: 801 }),
    window(1_000),
    "context_window"
  ],
  ["an answer without a limit", askOf(requestOf(""), { promptTokens: 501 }), window(1_000), "context_window"],
  ["a window that an answer could fill", askOf(requestOf(""), { promptTokens: 500 }), window(1_000, 1_000), undefined],
  [
    "much thinking of a model that cannot, in a small window",
    askOf(requestOf("", thinking("high")), { promptTokens: 2_500 }),
    { ...never, ...window(4_000, 4_000) },
    "reasoning_tier"
  ],
  [
    "a limit above what the model writes",
    askOf(requestOf("", { maxOutputTokens: 9_999 }), { promptTokens: 500 }),
    window(1_000),
    undefined
  ]
]

describe("Eligibility", () => {
  for (const [name, ask, traits, verdict] of verdicts) {
    it(`${name}: ${verdict ?? "can be served"}`, () => {
      assert.strictEqual(exclusionOf(modelOf("model", traits), requirementsOf(ask), ask.allowed), verdict)
    })
  }

  it("has a case above for every reason", () => {
    const reasons = new Set(verdicts.map(([, , , verdict]) => verdict))
    assert.deepStrictEqual(
      exclusions.filter((exclusion) => !reasons.has(exclusion)),
      []
    )
  })

  it("takes a model of which any endpoint has room", () => {
    const {
      endpoints: [small]
    } = modelOf("model", window(1_000))
    const {
      endpoints: [large]
    } = modelOf("model", window(10_000))
    const model = { ...modelOf("model"), endpoints: [small, large] as const }
    const needs = requirementsOf(askOf(requestOf(""), { promptTokens: 5_000 }))
    assert.isUndefined(exclusionOf({ ...model, endpoints: [small, large] }, needs, undefined))
  })
})
