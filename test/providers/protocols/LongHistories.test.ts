/**
 * Histories that are long in every way a client can think of. The work must grow with their length and no faster: where
 * it grew with the square, one request kept the process busy for minutes. Nothing is measured, because that shows by
 * itself.
 */
import { assert, describe, it } from "@effect/vitest"

import type { AssistantMessage, Message, ReasoningDetail } from "../../../src/domain/Conversation.ts"
import { joinedDetails } from "../../../src/domain/ReasoningBlocks.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { bodyOf, callOf, thinker, user } from "./wire.ts"

const many = 20_000
const origin = "lab/up"

const list = <A>(item: (index: number) => A): Array<A> => Array.from({ length: many }, (_, index) => item(index))

const assistant = (over: Partial<AssistantMessage>): ReadonlyArray<Message> => [
  user("q"),
  { role: "assistant", content: [{ type: "text", text: "x" }], toolCalls: [], reasoningDetails: [], ...over },
  user("next")
]
const reasoned = (detail: (index: number) => ReasoningDetail, over: Partial<AssistantMessage> = {}) =>
  assistant({ ...over, reasoningDetails: list(detail) })

const encrypted = (id: string, index: number): ReasoningDetail => ({
  type: "reasoning.encrypted",
  data: "AAAA",
  id: `${origin}#${id}`,
  index
})
const system: Message = { role: "system", content: [{ type: "text", text: "s" }] }
const text = { type: "text", text: "pp" } as const
const order = ["text", 1, null]
const long = "x".repeat(many * 10)

const histories: { readonly [name: string]: () => ReadonlyArray<Message> } = {
  messages: () => list(() => user("hi")),
  "instructions first": () => [...list(() => system), user("q")],
  "instructions later": () => [user("q"), ...list(() => system)],
  parts: () => [user("q"), { role: "user", content: list(() => text) }],
  calls: () => assistant({ toolCalls: list((index) => ({ id: `c${index}`, name: "f", arguments: "{}" })) }),
  "blocks of reasoning": () =>
    reasoned((index) => ({ type: "reasoning.text", text: "t", signature: "AAAA", id: `${origin}#`, index })),
  "pieces without an index": () => reasoned(() => ({ type: "reasoning.text", text: "t", id: `${origin}#` })),
  "blocks with one index": () =>
    reasoned((index) => ({ type: "reasoning.text", text: "t", id: `${origin}#b${index}`, index: 0 })),
  "encrypted blocks": () => reasoned((index) => encrypted(`rs_${index}`, index)),
  "summaries beside encrypted blocks": () =>
    reasoned((index) =>
      index % 2 === 0
        ? { ...encrypted(`rs_${index + 1}`, index), type: "reasoning.summary", summary: "s" }
        : encrypted(`rs_${index}`, index)
    ),
  "blocks between parts": () =>
    reasoned((index) => encrypted(`#0123456789abcdef@${index}.0`, index), { content: list(() => text) }),
  "blocks between calls": () =>
    reasoned((index) => encrypted(`rs@${index}`, index), {
      toolCalls: list((index) => ({ id: `c${index}`, name: "f", arguments: "{}" }))
    }),
  "signatures of one text": () =>
    reasoned((index) => encrypted(`text:0:0:${long.length - (index % 9)}:abc${index}`, index), {
      content: [{ type: "text", text: long }]
    }),
  "an order of items": () => {
    const named = Buffer.from(JSON.stringify([order, ...list(() => ["reasoning", "rs"])])).toString("base64url")
    return reasoned((index) =>
      index === 0 ? { ...encrypted("output_order", 0), data: named } : encrypted("rs", index)
    )
  }
}

describe("A history of many", () => {
  const dialects = { "openai-chat": ["openai", "mistral", "openrouter"] as const }
  for (const [name, history] of Object.entries(histories))
    it(`${name} is written in time by every protocol`, () => {
      const messages = history()
      for (const [protocolName, protocol] of Object.entries(protocols))
        for (const dialect of protocolName === "openai-chat" ? dialects[protocolName] : (["openai"] as const)) {
          const request = { messages, reasoning: { effort: "high", exclude: false } } as const
          assert.isObject(bodyOf(protocol, callOf({ model: thinker(), dialect, origin, request })), protocolName)
        }
    })

  it("pieces of a block with many members is joined in time", () => {
    const members = Object.fromEntries(list((index) => [`m${index}`, index]))
    const pieces = list((index): ReasoningDetail => ({
      type: "reasoning.text",
      text: "t",
      index: 0,
      ...(index === 0 && members)
    }))
    const [block, ...others] = joinedDetails(pieces)
    assert.lengthOf(others, 0)
    assert.strictEqual(block?.["text"], "t".repeat(many))
    assert.strictEqual(pieces[0]?.["text"], "t", "what the client sent is not changed")
  })
})
