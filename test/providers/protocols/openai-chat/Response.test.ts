import { assert, describe, it } from "@effect/vitest"

import type { DialectName } from "../../../../src/catalog/Provider.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { openAiChat } from "../../../../src/providers/protocols/openai-chat/OpenAiChat.ts"
import { bodyOf, callOf, completed, decoded, failing, outcome, streamed, thinker } from "../wire.ts"

const chunk = (delta: JsonObject, more: JsonObject = {}): JsonObject => ({
  id: "c",
  choices: [{ index: 0, delta, ...more }]
})
const ending = (finish_reason: string): JsonObject => chunk({}, { finish_reason })
const plain = (message: JsonObject, finish_reason = "stop", more: JsonObject = {}): JsonObject => ({
  id: "c",
  choices: [{ message, finish_reason }],
  ...more
})
const generic = callOf({ dialect: "generic", model: thinker() })

interface Piece {
  readonly index?: unknown
  readonly id?: unknown
  readonly name?: string
  readonly args?: unknown
}
const delta = (...calls: ReadonlyArray<Piece>): JsonObject =>
  chunk({ tool_calls: calls.map(({ args, name, ...call }) => ({ ...call, function: { name, arguments: args } })) })

const a = { id: "a", name: "f", arguments: `{"x":1}` }
const b = { id: "b", name: "g", arguments: `{"y":2}` }
const made = (name: string, text: string): JsonObject => ({ id: "made", name, arguments: text })

/** What a server sends, and the calls that it means. */
const toolStreams: ReadonlyArray<readonly [string, ReadonlyArray<JsonObject>, ReadonlyArray<JsonObject>]> = [
  [
    "interleave by index",
    [
      delta({ index: 0, id: "a", name: "f", args: "" }),
      delta({ index: 1, id: "b", name: "g", args: `{"y"` }),
      delta({ index: 0, args: `{"x":1}` }, { index: 1, args: ":2}" })
    ],
    [a, b]
  ],
  [
    "count from 0 whatever the server's indexes are",
    [
      delta({ index: 3, id: "a", name: "f", args: a.arguments }),
      delta({ index: "1", id: "b", name: "g", args: b.arguments })
    ],
    [a, b]
  ],
  [
    "need no index when the id is repeated",
    [
      delta({ id: "a", name: "f", args: `{"x"` }),
      delta({ id: "b", name: "g", args: `{"y":` }),
      delta({ id: "a", args: ":1}" }, { id: "b", args: "2}" })
    ],
    [a, b]
  ],
  [
    "need neither index nor id to continue",
    [delta({ id: "a", name: "f", args: `{"x"` }), delta({ args: ":1}" }), delta({ name: "g", args: b.arguments })],
    [a, made("g", b.arguments)]
  ],
  [
    "are two when whole calls share one index",
    [delta({ index: 0, id: "a", name: "f", args: a.arguments }, { index: 0, id: "b", name: "g", args: b.arguments })],
    [a, b]
  ],
  [
    "are two when two names share one index and nothing else distinguishes them",
    [delta({ index: 0, name: "f", args: "" }), delta({ index: 0, name: "g", args: b.arguments })],
    [made("f", "{}"), made("g", b.arguments)]
  ],
  [
    "follow their id when the index is wrong",
    [
      delta({ index: 0, id: "a", name: "f", args: `{"x"` }, { index: 1, id: "b", name: "g", args: `{"y"` }),
      delta({ index: 0, id: "b", args: ":2}" }),
      delta({ index: 1, id: "a", args: ":1}" })
    ],
    [a, b]
  ],
  [
    "keep their first id and name when later deltas repeat or change them",
    [
      delta({ index: 0, id: "a", name: "f", args: `{"x` }),
      delta({ index: 0, id: "a2", name: "f", args: `":1` }),
      delta({ index: 0, id: "a", name: "f", args: "}" })
    ],
    [a]
  ],
  [
    "get an id when they have none",
    [delta({ index: 0, id: "null", name: "f", args: "{}" }, { index: 1, id: "", name: "g", args: "{}" })],
    [made("f", "{}"), made("g", "{}")]
  ],
  [
    "get another id when one is used twice",
    [delta({ index: 0, id: "a", name: "f", args: a.arguments }), delta({ index: 1, id: "a", name: "f", args: "{}" })],
    [a, made("f", "{}")]
  ],
  ["have an empty object for no arguments", [delta({ index: 0, id: "a", name: "f" })], [{ ...a, arguments: "{}" }]],
  ["accept arguments that are an object", [delta({ index: 0, id: "a", name: "f", args: { x: 1 } })], [a]],
  [
    "are not doubled by a server that repeats a finished one",
    [
      delta({ index: 0, id: "a", name: "f", args: a.arguments }),
      delta({ index: 0, id: "a", name: "f", args: a.arguments })
    ],
    [a]
  ],
  [
    "wait for their name",
    [delta({ index: 0, id: "a", args: `{"x"` }), delta({ index: 0, name: "f", args: ":1}" })],
    [a]
  ]
]

describe("tool calls of a stream", () => {
  it.each(toolStreams)("%s", (_, frames, expected) => {
    const { finishReason, toolCalls } = completed(streamed(openAiChat, [...frames, ending("stop"), "[DONE]"], generic))
    const ids = new Set(toolCalls.map((call) => call.id))
    assert.strictEqual(ids.size, toolCalls.length)
    const shown = toolCalls.map((call) => ({ ...call, id: call.id.startsWith("call_") ? "made" : call.id }))
    assert.deepStrictEqual(shown, expected as typeof shown)
    assert.strictEqual(finishReason, "tool_calls")
  })

  it("get ids that differ between the turns of a conversation and are the same for the same answer", () => {
    const idIn = (turns: number): string | undefined => {
      const messages = Array.from({ length: turns }, () => ({ role: "user" as const, content: [] }))
      const call = callOf({ dialect: "mistral", request: { messages } })
      return completed(decoded(openAiChat, plain({ tool_calls: [{ function: { name: "f" } }] }), call)).toolCalls[0]?.id
    }
    assert.strictEqual(idIn(1), idIn(1))
    assert.notStrictEqual(idIn(1), idIn(3))
  })

  it("are broken when one of them never gets a name", () => {
    const frames = [delta({ index: 0, id: "a", args: "{}" }), ending("tool_calls"), "[DONE]"]
    assert.strictEqual(failing(streamed(openAiChat, frames, generic)), "broken")
  })
})

it("reads the finish reason by one table", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["stop", "stop"],
    ["eos", "stop"],
    ["end", "stop"],
    ["length", "length"],
    ["model_length", "length"],
    ["tool_calls", "stop"],
    ["content_filter", "content_filter"],
    ["sensitive", "content_filter"],
    ["insufficient_system_resource", "overloaded"],
    ["network_error", "network"],
    ["error", "server"],
    ["new_reason", "stop"],
    ["content_blocked_by_policy", "content_filter"],
    ["output_limit_reached", "length"],
    ["backend_error", "broken"]
  ]
  for (const [reason, expected] of cases) {
    const frames = [chunk({ content: "a" }), ending(reason), chunk({}, { finish_reason: null }), "[DONE]"]
    for (const result of [
      streamed(openAiChat, frames, generic),
      decoded(openAiChat, plain({ content: "a" }, reason), generic)
    ])
      assert.strictEqual(outcome(result), expected, reason)
  }
})

it("accepts a missing finish reason only from servers that may omit it, and only after their end marker", () => {
  const read = (dialect: DialectName, frames: ReadonlyArray<JsonObject | string>) =>
    failing(streamed(openAiChat, frames, callOf({ dialect })))
  const text = chunk({ content: "a" })
  assert.strictEqual(read("generic", [text, "[DONE]"]), "success")
  assert.strictEqual(read("generic", [text]), "broken")
  assert.strictEqual(read("openai", [text, "[DONE]"]), "broken")
})

it("turns the counts of every vendor into disjoint buckets", () => {
  const cases: ReadonlyArray<readonly [string, JsonObject, Partial<typeof none>]> = [
    [
      "details inside the totals",
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10, audio_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 20 }
      },
      { input: 25, cacheRead: 60, cacheWrite5m: 10, audioInput: 5, output: 50, reasoning: 20 }
    ],
    [
      "reasoning beside the completion",
      {
        prompt_tokens: 12,
        completion_tokens: 1,
        total_tokens: 241,
        completion_tokens_details: { reasoning_tokens: 228 }
      },
      { input: 12, output: 229, reasoning: 228 }
    ],
    [
      "audio beside the prompt",
      { prompt_tokens: 3, completion_tokens: 11, total_tokens: 389, prompt_tokens_details: { audio_tokens: 375 } },
      { input: 3, audioInput: 375, output: 11 }
    ],
    [
      "DeepSeek's hits",
      { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 4 },
      { input: 6, cacheRead: 4, output: 1 }
    ],
    [
      "Together's cached",
      { prompt_tokens: 10, completion_tokens: 1, cached_tokens: 4 },
      { input: 6, cacheRead: 4, output: 1 }
    ],
    [
      "Mistral's cached",
      { prompt_tokens: 10, completion_tokens: 1, num_cached_tokens: 4 },
      { input: 6, cacheRead: 4, output: 1 }
    ],
    [
      "more cached than there was",
      { prompt_tokens: 10, completion_tokens: 1, cached_tokens: 40 },
      { cacheRead: 10, output: 1 }
    ],
    ["numbers as texts", { prompt_tokens: "10", completion_tokens: "1" }, { input: 10, output: 1 }]
  ]
  for (const [name, usage, expected] of cases) {
    const places = [
      plain({ content: "a" }, "stop", { usage }),
      plain({ content: "a" }, "stop", { x_groq: { usage } }),
      { choices: [{ message: { content: "a" }, finish_reason: "stop", usage }] }
    ]
    for (const body of places)
      assert.deepStrictEqual(completed(decoded(openAiChat, body, generic)).usage, { ...none, ...expected }, name)
  }
  assert.isUndefined(completed(decoded(openAiChat, plain({ content: "a" }, "stop", { usage: {} }), generic)).usage)
})

describe("reasoning", () => {
  it("is read once from every member that servers put it in, and becomes a block that names its target", () => {
    const deltas: ReadonlyArray<readonly [DialectName, JsonObject]> = [
      ["generic", { reasoning_content: "why", reasoning: "why", content: "so" }],
      ["generic", { reasoning: "why", content: "so" }],
      [
        "mistral",
        {
          content: [
            { type: "thinking", thinking: [{ type: "text", text: "why" }] },
            { type: "text", text: "so" }
          ]
        }
      ],
      ["together", { content: " <think>why</think>\n\nso" }]
    ]
    for (const [dialect, message] of deltas) {
      const answer = completed(decoded(openAiChat, plain(message), callOf({ dialect, model: thinker() })))
      assert.deepInclude(answer, {
        content: "so",
        reasoning: "why",
        reasoningDetails: [{ type: "reasoning.text", text: "why", format: "unknown", index: 0, id: "lab/up#" }]
      })
    }
    const tags = completed(decoded(openAiChat, plain({ content: "<think>x</think>" }), generic))
    assert.strictEqual(tags.content, "<think>x</think>")
  })

  it("is taken out of think tags that are split over chunks", () => {
    const frames = [..."<think>because</think>so"].map((content) => chunk({ content }))
    const call = callOf({ dialect: "together", model: thinker() })
    const answer = completed(streamed(openAiChat, [...frames, ending("stop"), "[DONE]"], call))
    assert.deepInclude(answer, { content: "so", reasoning: "because" })
  })

  it("is left out when the client excludes it, with the signatures of the text that is left out", () => {
    const reasoning_details = [
      { type: "reasoning.text", text: "why", index: 0 },
      { type: "reasoning.text", signature: "sig", index: 0 },
      { type: "reasoning.encrypted", data: "d", id: "rs_1", index: 1 }
    ]
    const call = callOf({ dialect: "openrouter", model: thinker(), request: { reasoning: { exclude: true } } })
    const answer = completed(decoded(openAiChat, plain({ content: "so", reasoning: "why", reasoning_details }), call))
    assert.strictEqual(answer.reasoning, "")
    assert.deepStrictEqual(answer.reasoningDetails, [
      { type: "reasoning.encrypted", data: "d", id: "lab/up#rs_1", index: 1 }
    ])
  })
})

it("keeps a refusal apart from the content, plain and streamed", () => {
  const frames = [chunk({ refusal: "I " }), chunk({ refusal: "won't." }), ending("stop"), "[DONE]"]
  const expected = { content: "", refusal: "I won't.", finishReason: "stop" } as const
  assert.deepInclude(completed(streamed(openAiChat, frames, generic)), expected)
  assert.deepInclude(completed(decoded(openAiChat, plain({ content: null, refusal: "I won't." }), generic)), expected)
})

it("cuts at stop sequences by itself where the model does not accept them", () => {
  const call = callOf({ model: thinker(), request: { stop: ["END", "\n\n"] } })
  assert.notProperty(bodyOf(openAiChat, call), "stop")
  const frames = ["one E", "N", "two", "EN", "D", "three"].map((content) => chunk({ content }))
  const answer = completed(streamed(openAiChat, [...frames, ending("length"), "[DONE]"], call))
  assert.deepInclude(answer, { content: "one ENtwo", finishReason: "stop" })
})

it("finds errors in successful responses and in streams", () => {
  const cases: ReadonlyArray<readonly [unknown, string]> = [
    [{ error: { message: "Overloaded", type: "overloaded_error" } }, "overloaded"],
    [{ error: "Incorrect API key provided", code: "x" }, "Credentials"],
    [{ object: "error", message: "Requests rate limit exceeded", type: "rate_limit" }, "rate_limited"],
    [{ base_resp: { status_code: 1008, status_msg: "insufficient balance" } }, "Credentials"],
    [{ base_resp: { status_code: 1002, status_msg: "slow" } }, "rate_limited"],
    [{ choices: [{ finish_reason: "error", delta: {} }], error: { code: 502, message: "down" } }, "server"],
    [{ choices: [{ error: { code: 429, message: "later" }, delta: {} }] }, "rate_limited"],
    [{ error: { message: "bad tool", code: "tool_use_failed", status_code: 400 } }, "broken"],
    [[], "broken"],
    ["<html>", "broken"]
  ]
  for (const [body, expected] of cases) {
    assert.strictEqual(failing(decoded(openAiChat, body, generic)), expected, JSON.stringify(body))
    const frame = JSON.stringify(body)
    assert.strictEqual(failing(streamed(openAiChat, [frame, "[DONE]"], generic)), expected, frame)
  }
  const event = openAiChat.reader(generic).step({ event: "error", data: `{"error":{"message":"x","code":429}}` })
  assert.strictEqual(failing(event), "rate_limited")
  assert.strictEqual(
    failing(decoded(openAiChat, { base_resp: { status_code: 0 }, ...plain({ content: "a" }) }, generic)),
    "success"
  )
  assert.strictEqual(failing(decoded(openAiChat, { error: null, ...plain({ content: "a" }) }, generic)), "success")
  assert.strictEqual(failing(decoded(openAiChat, { choices: [] }, generic)), "broken")
})

it("accepts a filtered completion without any message", () => {
  const body = { choices: [{ finish_reason: "content_filter", content_filter_results: {} }] }
  assert.strictEqual(completed(decoded(openAiChat, body, generic)).finishReason, "content_filter")
})
