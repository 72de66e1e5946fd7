/** Answers in Anthropic's protocol with any content blocks, for the fake provider. */
import type { Json } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"

export const thinkingBlock = (about: string): Json => ({
  type: "thinking",
  thinking: `Let me see about ${about}.`,
  signature: Buffer.from(`signed ${about}`).toString("base64")
})

export const redactedThinking = (about: string): Json => ({
  type: "redacted_thinking",
  data: Buffer.from(`hidden ${about}`).toString("base64")
})

export const toolUse = (name: string, id = "toolu_1"): Json => ({ type: "tool_use", id, name, input: {} })

export const textBlock = (text: string): Json => ({ type: "text", text })

/** The events of a block. Thinking is streamed in two chunks, with its signature after them. */
const eventsOf = (block: Json, index: number): ReadonlyArray<string> => {
  const start = (content_block: Json) => Fake.namedEvent("content_block_start", { index, content_block })
  const delta = (type: string, members: Json) =>
    Fake.namedEvent("content_block_delta", { index, delta: { type, ...members } })
  const stop = Fake.namedEvent("content_block_stop", { index })
  switch (block["type"]) {
    case "thinking": {
      const text = String(block["thinking"])
      return [
        start({ type: "thinking", thinking: "" }),
        delta("thinking_delta", { thinking: text.slice(0, 7) }),
        delta("thinking_delta", { thinking: text.slice(7) }),
        delta("signature_delta", { signature: block["signature"] }),
        stop
      ]
    }
    case "text":
      return [start(textBlock("")), delta("text_delta", { text: block["text"] }), stop]
    default:
      return [start(block), stop]
  }
}

/** Answers with these blocks, plain or streamed as the request asks. */
export const answersWith =
  (...content: ReadonlyArray<Json>): Fake.Behaviour =>
  (response, received) => {
    const stop_reason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn"
    const usage = { input_tokens: 10, output_tokens: 20 }
    const message = { id: "msg_1", type: "message", role: "assistant", content: [], stop_reason: null, usage }
    const events = [
      Fake.namedEvent("message_start", { message }),
      ...content.flatMap(eventsOf),
      Fake.namedEvent("message_delta", { delta: { stop_reason }, usage }),
      Fake.namedEvent("message_stop")
    ]
    return received.body["stream"] === true
      ? Fake.streams(events)(response, received)
      : Fake.reply(200, { ...message, content, stop_reason })(response, received)
  }
