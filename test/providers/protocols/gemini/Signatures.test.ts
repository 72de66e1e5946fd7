import { assert, it } from "@effect/vitest"

import type { Completion } from "../../../../src/domain/Completion.ts"
import type { AssistantMessage, ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { gemini } from "../../../../src/providers/protocols/gemini/Gemini.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { bodyOf, callOf, completed, decoded, streamed, thinker, user } from "../wire.ts"

const call = (request: Partial<ChatRequest>, over: Partial<WireCall> = {}, traits = {}): WireCall =>
  callOf({ dialect: "generic", ...over, request, model: thinker({ support: "always", ...traits }) })

const chunk = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, ...more }]
})
const calling = (name: string, id: string, signature?: string): JsonObject => ({
  functionCall: { id, name, args: { q: name } },
  ...(signature !== undefined && { thoughtSignature: signature })
})

const messageOf = ({ content, reasoningDetails, toolCalls }: Completion): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text: content }],
  toolCalls,
  reasoningDetails
})
const result = (toolCallId: string): Message => ({
  role: "tool",
  toolCallId,
  content: [{ type: "text", text: "r" }]
})

const modelTurns = (
  messages: ReadonlyArray<Message>,
  over: Partial<WireCall> = {},
  traits = {}
): ReadonlyArray<unknown> =>
  (bodyOf(gemini, call({ messages }, over, traits))["contents"] as ReadonlyArray<JsonObject>)
    .filter((turn) => turn["role"] === "model")
    .map((turn) => turn["parts"])

const signedTurn = (id: string): ReadonlyArray<JsonObject> => [
  { text: "why", thought: true, thoughtSignature: "dGhvdWdodA==" },
  { text: "First, " },
  { text: "this.", thoughtSignature: "c2lnbmVk" },
  { text: " Then that." },
  calling("f", `${id}-1`, "Y2Fs/GzQ+A=="),
  calling("g", `${id}-2`),
  { text: "", thoughtSignature: "ZW1wdHk_" }
]

it.each(["plain", "streamed"])("is sent with exactly its part over three turns of a tool loop (%s)", (kind) => {
  const messages: Array<Message> = [user("q")]
  const expected: Array<unknown> = []
  for (const id of ["one", "two", "three"]) {
    const parts = signedTurn(id)
    const asked = call({ messages: [...messages] })
    const ending = { finishReason: "STOP" }
    const answer =
      kind === "plain"
        ? decoded(gemini, chunk(parts, ending), asked)
        : streamed(gemini, [...parts.map((part) => chunk([part])), chunk([{ text: "" }], ending)], asked)
    messages.push(messageOf(completed(answer)), result(`${id}-2`), result(`${id}-1`))
    expected.push(parts)
    assert.deepStrictEqual(modelTurns(messages), expected)
  }
  const { content } = messages[1] as AssistantMessage
  assert.strictEqual(content[0]?.text, "First, this. Then that.")
})

it("is sent to its origin only; others get a substitute on the first call of a turn, and older models none", () => {
  const answer = messageOf(completed(decoded(gemini, chunk(signedTurn("a"), { finishReason: "STOP" }), call({}))))
  const messages = [user("q"), answer, result("a-1"), result("a-2"), answer]
  const bare = [
    { text: "First, this. Then that." },
    calling("f", "a-1", "skip_thought_signature_validator"),
    calling("g", "a-2")
  ]
  assert.deepStrictEqual(modelTurns(messages, { origin: "lab/other" }), [bare, bare])
  const older = JSON.stringify(modelTurns(messages, { origin: "lab/other" }, { budgetTokens: { min: 1, max: 9 } }))
  assert.notMatch(older, /Signature|"id"/)
})

it("is dropped if the client changed the text before it, or its bytes", () => {
  const answer = messageOf(completed(decoded(gemini, chunk(signedTurn("a"), { finishReason: "STOP" }), call({}))))
  const changed: AssistantMessage = {
    ...answer,
    content: [{ type: "text", text: "First, that. Then this." }],
    reasoningDetails: answer.reasoningDetails.map((detail) =>
      detail["data"] === "Y2Fs/GzQ+A==" ? { ...detail, data: "Y2Fs/GzQ+A=" } : detail
    )
  }
  assert.deepStrictEqual(modelTurns([user("q"), changed]), [
    [
      { text: "why", thought: true, thoughtSignature: "dGhvdWdodA==" },
      { text: "First, that. Then this." },
      calling("f", "a-1", "skip_thought_signature_validator"),
      calling("g", "a-2")
    ]
  ])
})

it("is kept if the client excludes reasoning", () => {
  const parts = [{ text: "why", thought: true }, calling("f", "a", "c2ln")]
  const asked = call({ reasoning: { exclude: true } })
  const answer = completed(decoded(gemini, chunk(parts, { finishReason: "STOP" }), asked))
  assert.strictEqual(answer.reasoning, "")
  assert.deepStrictEqual(modelTurns([user("q"), messageOf(answer), result("a")]), [[calling("f", "a", "c2ln")]])
})

it("stays apart from unsigned thoughts beside it", () => {
  const thoughts = [
    { text: "a", thought: true },
    { text: "b", thought: true },
    { text: "c", thought: true, thoughtSignature: "c2ln" },
    { text: "d", thought: true }
  ]
  const { reasoning, reasoningDetails } = completed(
    decoded(gemini, chunk(thoughts, { finishReason: "STOP" }), call({}))
  )
  assert.strictEqual(reasoning, "abcd")
  assert.deepStrictEqual(
    reasoningDetails.map((detail) => [detail["text"], detail["signature"]]),
    [
      ["ab", undefined],
      ["c", "c2ln"],
      ["d", undefined]
    ]
  )
})

it("belongs to the first call, which is the one that is kept if calls must not be parallel", () => {
  const parts = [calling("f", "a", "c2ln"), calling("g", "b")]
  const answer = completed(decoded(gemini, chunk(parts, { finishReason: "STOP" }), call({ parallelToolCalls: false })))
  assert.deepStrictEqual(answer.toolCalls, [{ id: "a", name: "f", arguments: `{"q":"f"}` }])
  assert.deepStrictEqual(modelTurns([user("q"), messageOf(answer), result("a")]), [[calling("f", "a", "c2ln")]])
})
