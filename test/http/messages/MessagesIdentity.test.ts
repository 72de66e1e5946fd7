/** A request in Anthropic's form that goes to Anthropic arrives as it was sent, as far as the gateway knows it. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { normalise } from "../../../src/domain/Reasoning.ts"
import { readMessagesBody } from "../../../src/http/messages/MessagesBody.ts"
import { anthropicMessages } from "../../../src/providers/protocols/anthropic-messages/AnthropicMessages.ts"
import { bodyOf, callOf, thinker } from "../../providers/protocols/wire.ts"

const context = { autoModel: "svc-auto", sessionHeader: undefined }

const sentFor = (body: object) => {
  const read = readMessagesBody(JSON.stringify(body), context, { resolve: (name) => name })
  const { input } = Result.getOrThrow(read)
  const reasoning = normalise(input.reasoning, { routed: false })
  const claude = { ...thinker({ budgetTokens: { min: 1_024, max: 60_000 } }), ownedBy: "anthropic" }
  return bodyOf(
    anthropicMessages,
    callOf({ model: claude, request: { ...input.request, ...(reasoning && { reasoning }) }, stream: input.stream })
  )
}

const mark = { cache_control: { type: "ephemeral" } }
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }

const blocks = {
  user: [
    { type: "text", text: "Hello" },
    { type: "text", text: "And this?", ...mark },
    image,
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } }
  ],
  assistant: [
    { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" },
    { type: "redacted_thinking", data: "aGlkZGVu" },
    { type: "text", text: "Well." },
    { type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Lima" } }
  ],
  results: [
    { type: "tool_result", tool_use_id: "toolu_1", content: "12 degrees" },
    { type: "tool_result", tool_use_id: "toolu_1", content: "No network", is_error: true, ...mark },
    { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "See:" }, image] }
  ]
} as const

/** Anthropic takes four marks of the cache at most, so a choice of blocks has no more. */
const Picks = Schema.Struct({
  user: Schema.Array(Schema.Literals([0, 1, 2, 3])).check(Schema.isMinLength(1), Schema.isMaxLength(2)),
  thinks: Schema.Literals([0, 1, 2]),
  result: Schema.Literals([0, 1, 2]),
  thinking: Schema.Literals(["enabled", "disabled"]),
  choice: Schema.Literals(["auto", "none"]),
  system: Schema.Boolean,
  stream: Schema.Boolean,
  stop: Schema.Boolean
})

describe("A request in Anthropic's form", () => {
  it.prop("reaches Anthropic as it was", { Picks }, ({ Picks: picks }) => {
    const body = {
      model: "claude",
      max_tokens: 8_000,
      messages: [
        { role: "user", content: picks.user.map((index) => blocks.user[index]) },
        { role: "assistant", content: blocks.assistant.slice(picks.thinks) },
        { role: "user", content: [blocks.results[picks.result]] }
      ],
      ...(picks.system && { system: [{ type: "text", text: "You speak of the weather.", ...mark }] }),
      tools: [{ name: "get_weather", description: "The weather", input_schema: { type: "object", properties: {} } }],
      ...(picks.choice === "none" && { tool_choice: { type: "none" } }),
      ...(picks.stop && { stop_sequences: ["END"] }),
      thinking:
        picks.thinking === "enabled" && picks.thinks < 2
          ? { type: "enabled", budget_tokens: 2_000 }
          : { type: "disabled" },
      stream: picks.stream
    }
    const { model: _, thinking, ...sent } = sentFor(body)
    const { model: __, thinking: asked, ...wanted } = body
    assert.deepStrictEqual<unknown>(sent, wanted)
    assert.deepInclude(thinking, asked)
  })
})
