import { MessageStream } from "@anthropic-ai/sdk/lib/MessageStream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

import { modelId, requestId } from "../../../src/domain/Ids.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import { none } from "../../../src/domain/Usage.ts"
import type { Delta } from "../../../src/gateway/Meter.ts"
import { messageBody, messageEncoder } from "../../../src/http/messages/MessageAnswer.ts"

const envelope = {
  id: requestId("01a203b4-b71a-76fe-9c67-e2d507f95a68"),
  createdSeconds: 1,
  serviceName: "svc",
  fingerprint: "fp_1"
}
const settlement = { finishReason: "stop", usage: { ...none, input: 3, output: 5 }, cost: picodollars(7n) } as const
const common = {
  model: modelId("m"),
  routing: { routed: false, model: null, latencyMillis: null },
  adjustments: []
} as const
const completion = {
  content: "",
  refusal: "",
  reasoning: "",
  reasoningDetails: [],
  toolCalls: [],
  finishReason: undefined,
  usage: undefined
}

const plain = (output: ReadonlyArray<Delta>, showsThinking = true) =>
  messageBody(envelope, { ...settlement, ...common, completion, output }, { showsThinking })

/** What Anthropic's own package makes of the stream, in packets of so many deltas. */
const accumulated = async (output: ReadonlyArray<Delta>, size: number) => {
  const encoder = messageEncoder(envelope, { ...common, promptTokens: 9 }, { showsThinking: true })
  let text = ""
  for (let at = 0; at < output.length; at += size) text += encoder.deltas(output.slice(at, at + size))
  text += encoder.last({ type: "settled", ...settlement })
  const starts = [...text.matchAll(/"type":"content_block_start","index":(\d+)/g)].map(([, index]) => Number(index))
  assert.deepStrictEqual(starts, [...starts.keys()])
  const events = text
    .split("\n\n")
    .flatMap((frame) => (frame === "" ? [] : [frame.slice(frame.indexOf("\ndata: ") + "\ndata: ".length)]))
  const body = new Response(events.map((event) => `${event}\n`).join("")).body
  assert.isNotNull(body)
  return body === null ? undefined : MessageStream.fromReadableStream(body).finalMessage()
}

const tool = (index: number): Delta => ({ type: "tool", index, id: `call_${index}`, name: `tool${index}` })
const args = (index: number, fragment: string): Delta => ({ type: "arguments", index, fragment })
const hidden: Delta = { type: "detail", detail: { type: "reasoning.encrypted", data: "x", id: "o#1" } }
const text = (content: string): Delta => ({ type: "text", text: content })

const contentOf = (output: ReadonlyArray<Delta>) =>
  plain(output).content.map((block) => {
    switch (block.type) {
      case "text":
        return block.text
      case "tool_use":
        return block.input
      case "thinking":
        return block.thinking
      case "redacted_thinking":
        return "redacted"
    }
  })

describe("Blocks of a message", () => {
  const cases: ReadonlyArray<readonly [name: string, output: ReadonlyArray<Delta>, content: ReadonlyArray<unknown>]> = [
    ["keep the order of the model", [text("a"), tool(0), args(0, "{}"), text("b")], ["a", {}, "b"]],
    ["are apart for calls", [tool(0), args(0, '{"a":1}'), tool(1), args(1, '{"b":2}')], [{ a: 1 }, { b: 2 }]],
    [
      "are not mixed where the arguments of two calls are",
      [tool(0), tool(1), args(1, '{"b":'), args(0, '{"a":1}'), args(1, "2}"), text("end")],
      [{ a: 1 }, { b: 2 }, "end"]
    ],
    ["have an object where a call has no arguments", [tool(0), tool(1), args(1, "{}")], [{}, {}]],
    ["keep arguments that are no object", [tool(0), args(0, "[1]"), text("end")], [{ _raw: "[1]" }, "end"]],
    ["end with a call that is cut", [text("a"), tool(0), args(0, '{"a":')], ["a", { _raw: '{"a":' }]],
    ["hold a refusal as text", [{ type: "refusal", text: "No." }], ["No."]],
    ["hold what only a provider can read", [hidden, text("a")], ["redacted", "a"]],
    ["keep it between words", [text("a"), hidden, text("b")], ["a", "redacted", "b"]],
    ["keep it beside a call", [text("a"), tool(0), args(0, "{}"), hidden], ["a", {}, "redacted"]],
    ["keep it between words and a call", [text("a"), hidden, tool(0), args(0, "{}")], ["a", "redacted", {}]],
    ["end with the words of an answer in words", [hidden, text("a"), hidden], ["redacted", "a"]]
  ]
  for (const [name, output, content] of cases)
    it(name, () => assert.deepStrictEqual<unknown>(contentOf(output), content))

  it("have no thinking where none was asked for", () => {
    const { content } = plain([{ type: "reasoning", text: "Hm." }, text("a")], false)
    assert.deepStrictEqual(
      content.map(({ type }) => type),
      ["text"]
    )
  })

  const Pieces = Schema.Array(
    Schema.Literals(["text", "reasoning", "signature", "encrypted", "tool", "open tool", "arguments"])
  ).check(Schema.isMaxLength(14))
  const Size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 }))

  /** Deltas of an answer in which every call has whole arguments in the end. */
  const deltasOf = (pieces: ReadonlyArray<(typeof Pieces.Type)[number]>): ReadonlyArray<Delta> => {
    const deltas: Array<Delta> = []
    const open: Array<number> = []
    let calls = 0
    for (const [at, piece] of pieces.entries()) {
      const detail = { id: `o#${at}`, index: at }
      if (piece === "text") deltas.push(text(`t${at}`))
      if (piece === "reasoning") deltas.push({ type: "reasoning", text: `r${at}` })
      if (piece === "signature")
        deltas.push({ type: "detail", detail: { type: "reasoning.text", text: "", signature: `s${at}`, ...detail } })
      if (piece === "encrypted")
        deltas.push({ type: "detail", detail: { type: "reasoning.encrypted", data: `d${at}`, ...detail } })
      if (piece === "tool") deltas.push(tool(calls), args(calls++, `{"at":${at}}`))
      if (piece === "open tool") {
        deltas.push(tool(calls), args(calls, `{"at":`))
        open.push(calls++)
      }
      const call = piece === "arguments" ? open.pop() : undefined
      if (call !== undefined) deltas.push(args(call, `${at}}`))
    }
    return [...deltas, ...open.map((call) => args(call, "0}"))]
  }

  it.effect.prop("are what Anthropic's package makes of their stream", { Pieces, Size }, (made) =>
    Effect.promise(async () => {
      const deltas = deltasOf(made.Pieces)
      if (deltas.length === 0) return
      const message = await accumulated(deltas, made.Size)
      assert.deepStrictEqual<unknown>(JSON.parse(JSON.stringify(message?.content)), plain(deltas).content)
      assert.strictEqual(message?.usage.input_tokens, 3)
      assert.strictEqual(message?.stop_reason, "end_turn")
    })
  )
})
