/** `cache_control` wherever clients put it, from the body of a request to that of the provider. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { ChatProtocolName } from "../../../src/catalog/Model.ts"
import type { DialectName } from "../../../src/catalog/Provider.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { readChatBody } from "../../../src/http/chat/ChatBody.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { bodyOf, callOf, thinker } from "./wire.ts"

const read = (body: JsonObject) =>
  readChatBody(JSON.stringify(body), { autoModel: "svc-auto", sessionHeader: undefined })

interface Way {
  readonly protocol: ChatProtocolName
  readonly dialect?: DialectName
  readonly upstream?: string
  /** Its mark, as it is written in the provider's body. */
  readonly mark: RegExp
}

const claude: Way = { protocol: "anthropic-messages", mark: /"cache_control":\{"type":"ephemeral"\}/ }
const bedrock: Way = {
  protocol: "bedrock-converse",
  upstream: "anthropic.claude-x",
  mark: /\{"cachePoint":\{"type":"default"\}\}/
}
const openRouter: Way = {
  protocol: "openai-chat",
  dialect: "openrouter",
  mark: /"cache_control":\{"type":"ephemeral"\}/
}
const responses: Way = { protocol: "openai-responses", mark: /"prompt_cache_breakpoint":\{"mode":"explicit"\}/ }

/** The provider's body, cut behind each of its marks. */
const prefixes = ({ dialect = "openai", mark, protocol, upstream = "up" }: Way, body: JsonObject) => {
  const { request } = Result.getOrThrow(read(body))
  const model = thinker({ efforts: ["low", "medium", "high", "xhigh", "max"] })
  const sent = bodyOf(protocols[protocol], callOf({ request, model, dialect, upstream }))
  const text = JSON.stringify([sent["tools"], sent["toolConfig"], sent["system"], sent["messages"], sent["input"]])
  return text.split(mark).slice(0, -1)
}

const cache_control = { type: "ephemeral" }
const user = (content: unknown, more: JsonObject = {}) => ({ role: "user", content, ...more })
const called = (more: JsonObject = {}, ofCall: JsonObject = {}) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: `{"at":"A"}` }, ...ofCall }],
  ...more
})
const result = (content: string, more: JsonObject = {}) => ({ role: "tool", tool_call_id: "c1", content, ...more })
const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
const tool = { type: "function", function: { name: "look", parameters: { type: "object" } } }
const conversation = (...messages: ReadonlyArray<JsonObject>) => ({ messages, tools: [tool] })

const places: ReadonlyArray<{
  readonly name: string
  readonly body: JsonObject
  /** What the marked prefix ends with. */
  readonly last: string
  readonly ways: ReadonlyArray<Way>
}> = [
  {
    name: "a system message",
    body: conversation({ role: "system", content: "Rules.", cache_control }, user("Hi")),
    last: "Rules.",
    ways: [claude, bedrock, openRouter, responses]
  },
  {
    name: "a user message of one text",
    body: conversation(user("Question", { cache_control }), { role: "assistant", content: "Later" }, user("More")),
    last: "Question",
    ways: [claude, bedrock, openRouter, responses]
  },
  {
    name: "a user message that ends with an image",
    body: conversation(user([{ type: "text", text: "Look" }, image], { cache_control })),
    last: "AAAA",
    ways: [claude, bedrock, openRouter, responses]
  },
  {
    name: "an image",
    body: conversation(
      user([
        { ...image, cache_control },
        { type: "text", text: "Look" }
      ])
    ),
    last: "AAAA",
    ways: [claude, bedrock, openRouter, responses]
  },
  {
    name: "an assistant message of text",
    body: conversation(user("Hi"), { role: "assistant", content: "Answer", cache_control }, user("More")),
    last: "Answer",
    ways: [claude, bedrock, openRouter]
  },
  {
    name: "an assistant message of calls",
    body: conversation(user("Hi"), called({ cache_control }), result("Found")),
    last: "look",
    ways: [claude, bedrock]
  },
  {
    name: "a tool call",
    body: conversation(user("Hi"), called({}, { cache_control }), result("Found")),
    last: "look",
    ways: [claude, bedrock]
  },
  {
    name: "a tool call, for a server that marks only texts",
    body: conversation(user("Hi"), called({}, { cache_control }), result("Found"), user("More")),
    last: "Found",
    ways: [openRouter]
  },
  {
    name: "a tool message",
    body: conversation(user("Hi"), called(), result("Found", { cache_control }), user("More")),
    last: "Found",
    ways: [claude, bedrock, openRouter, responses]
  },
  {
    name: "a tool",
    body: { messages: [user("Hi")], tools: [{ ...tool, cache_control }] },
    last: "look",
    ways: [claude, bedrock]
  },
  {
    name: "the function of a tool",
    body: { messages: [user("Hi")], tools: [{ ...tool, function: { ...tool.function, cache_control } }] },
    last: "look",
    ways: [claude, bedrock]
  }
]

/** The last word of what is marked, whatever the provider writes around it. */
const words = ["Rules.", "Question", "Look", "AAAA", "Answer", "look", "Found", "Hi", "More", "Later"]
const lastWord = (text: string): string | undefined =>
  words.map((word) => [text.lastIndexOf(`${word}"`), word] as const).sort(([a], [b]) => b - a)[0]?.[1]

describe("a mark on", () => {
  for (const { body, last, name, ways } of places)
    for (const way of ways)
      it(`${name} reaches ${way.dialect ?? way.protocol}`, () => {
        const marked = prefixes(way, body)
        assert.strictEqual(marked.length, 1)
        assert.strictEqual(lastWord(marked[0] ?? ""), last)
      })

  it("a message does not replace that of its last part, and lasts as long as it says", () => {
    const part = { type: "text", text: "Long", cache_control: { type: "ephemeral", ttl: "1h" } }
    const { request } = Result.getOrThrow(read({ messages: [user([part], { cache_control })] }))
    assert.deepInclude(request.messages[0]?.content[0], { cacheControl: { ttl: "1h" } })
  })

  it("more than four things is kept on the last four, at every provider that has this limit", () => {
    const body = conversation(...Array.from({ length: 6 }, (_, index) => user(`T${index}`, { cache_control })))
    for (const way of [claude, bedrock, openRouter]) assert.strictEqual(prefixes(way, body).length, 4)
  })

  it("anything at all is refused with its place when its lifetime cannot be read", () => {
    const bad = { cache_control: { type: "ephemeral", ttl: "soon" } }
    const bodies: ReadonlyArray<readonly [body: JsonObject, path: string]> = [
      [conversation(user("Hi", bad)), "messages[0]."],
      [conversation(user([{ ...image, ...bad }])), "messages[0].content[0]."],
      [conversation(user("Hi"), called({}, bad), result("Found")), "messages[1].tool_calls[0]."],
      [{ messages: [user("Hi")], tools: [{ ...tool, ...bad }] }, "tools[0]."]
    ]
    for (const [body, path] of bodies) {
      const failure = read(body)
      assert.include(
        Result.isFailure(failure) ? failure.failure.error.message : "accepted",
        `${path}cache_control.ttl: must be a duration`
      )
    }
  })
})
