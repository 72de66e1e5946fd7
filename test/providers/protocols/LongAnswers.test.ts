/**
 * Answers with more parts than any model makes. Joining them would take time that grows with the square of their
 * number, so beyond a bound the answer is broken. Nothing is measured: without the bound this would take minutes.
 */
import { assert, describe, it } from "@effect/vitest"

import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { maxAnswerItems } from "../../../src/providers/protocols/shared/response/EventBuilder.ts"
import { callOf, decoded, failing, outcome } from "./wire.ts"

const list = <A>(count: number, item: (index: number) => A): Array<A> =>
  Array.from({ length: count }, (_, i) => item(i))

/** A whole answer of each protocol with this many tool calls. */
const withToolCalls: { readonly [name in keyof typeof protocols]: (count: number) => object } = {
  "openai-chat": (count) => ({
    choices: [
      {
        finish_reason: "tool_calls",
        message: {
          content: null,
          tool_calls: list(count, (index) => ({
            id: `c${index}`,
            type: "function",
            function: { name: "f", arguments: "{}" }
          }))
        }
      }
    ]
  }),
  "openai-responses": (count) => ({
    status: "completed",
    output: list(count, (index) => ({
      type: "function_call",
      id: `fc_${index}`,
      call_id: `c${index}`,
      name: "f",
      arguments: "{}"
    }))
  }),
  "anthropic-messages": (count) => ({
    type: "message",
    role: "assistant",
    stop_reason: "tool_use",
    content: list(count, (index) => ({ type: "tool_use", id: `c${index}`, name: "f", input: {} }))
  }),
  gemini: (count) => ({
    candidates: [
      { finishReason: "STOP", content: { parts: list(count, () => ({ functionCall: { name: "f", args: {} } })) } }
    ]
  }),
  "bedrock-converse": (count) => ({
    stopReason: "tool_use",
    output: {
      message: {
        role: "assistant",
        content: list(count, (index) => ({ toolUse: { toolUseId: `c${index}`, name: "f", input: {} } }))
      }
    }
  })
}

describe("An answer of many", () => {
  for (const [name, body] of Object.entries(withToolCalls))
    it(`tool calls is read up to a bound by ${name}`, () => {
      const protocol = protocols[name as keyof typeof protocols]
      const call = callOf({ request: { tools: [{ name: "f", parameters: { type: "object" } }] } })
      assert.strictEqual(outcome(decoded(protocol, body(maxAnswerItems), call)), "tool_calls")
      assert.strictEqual(failing(decoded(protocol, body(100_000), call)), "broken")
    })

  it("items of reasoning is broken beyond the bound", () => {
    const output = list(100_000, (index) => ({
      type: "reasoning",
      id: `rs_${index}`,
      summary: [{ type: "summary_text", text: "t" }]
    }))
    const body = { status: "completed", output }
    assert.strictEqual(failing(decoded(protocols["openai-responses"], body, callOf())), "broken")
  })
})
