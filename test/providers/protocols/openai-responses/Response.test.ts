import { assert, describe, it } from "@effect/vitest"

import type { DialectName } from "../../../../src/catalog/Provider.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import { callOf, completed, decoded, failing, failureTag, outcome, streamed, thinker } from "../wire.ts"

const call = callOf({ model: thinker() })

const message = (text: string, more: JsonObject = {}): JsonObject => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more
})
const called = (args: string, more: JsonObject = {}): JsonObject => ({
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "f",
  arguments: args,
  ...more
})
const thought = (summaries: ReadonlyArray<string>, encrypted_content: unknown, more: JsonObject = {}): JsonObject => ({
  type: "reasoning",
  id: "rs_1",
  summary: summaries.map((text) => ({ type: "summary_text", text })),
  encrypted_content,
  ...more
})

const response = (output: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  id: "resp_1",
  status: "completed",
  error: null,
  incomplete_details: null,
  output,
  ...more
})
const added = (output_index: number, item: JsonObject): JsonObject => ({
  type: "response.output_item.added",
  output_index,
  item
})
const done = (output_index: number, item: JsonObject): JsonObject => ({
  type: "response.output_item.done",
  output_index,
  item
})
const ended = (output: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  type: "response.completed",
  response: response(output, more)
})
const event = (name: string, output_index: number, more: JsonObject): JsonObject => ({
  type: `response.${name}`,
  output_index,
  ...more
})
const text = (output_index: number, delta: string): JsonObject =>
  event("output_text.delta", output_index, { content_index: 0, delta, obfuscation: "x" })
const args = (output_index: number, delta: string): JsonObject =>
  event("function_call_arguments.delta", output_index, { delta })

const read = (frames: ReadonlyArray<JsonObject | string>, dialect: DialectName = "openai") =>
  completed(streamed(openAiResponses, frames, { ...call, dialect }))

describe("a text that a stream leaves out", () => {
  const whole = message("Hello.")
  const made = called(`{"a":1}`)
  const streams: ReadonlyArray<readonly [string, ReadonlyArray<JsonObject>]> = [
    [
      "is taken from the end of its part",
      [
        text(0, "Hel"),
        event("output_text.done", 0, { content_index: 0, text: "Hello." }),
        added(1, called("")),
        event("function_call_arguments.done", 1, { arguments: `{"a":1}` }),
        done(1, made),
        ended([])
      ]
    ],
    [
      "is taken from the end of its item",
      [text(0, "He"), done(0, whole), added(1, called("")), done(1, made), ended([])]
    ],
    ["is taken from the last event when nothing else was sent", [ended([whole, made])]],
    [
      "is taken from the last event where the deltas stopped",
      [
        added(0, message("", { content: [] })),
        text(0, "Hell"),
        added(1, called("")),
        args(1, `{"a"`),
        ended([whole, made])
      ]
    ],
    [
      "is not missed when the start of its item is left out",
      [text(0, "Hello."), args(1, `{"a":`), args(1, "1}"), done(1, made), ended([])]
    ],
    [
      "is not missed when deltas name their item without an index",
      [
        added(0, whole),
        { type: "response.output_text.delta", item_id: "msg_1", delta: "Hello." },
        added(1, called("")),
        { type: "response.function_call_arguments.delta", item_id: "fc_1", delta: `{"a":1}` },
        done(1, made),
        ended([whole, made])
      ]
    ],
    [
      "is not missed when every event has another item id",
      [
        added(0, message("", { id: "x1" })),
        event("output_text.delta", 0, { item_id: "x2", delta: "Hello." }),
        done(0, message("Hello.", { id: "x3" })),
        done(1, called(`{"a":1}`, { id: "x4" })),
        ended([message("Hello.", { id: "x5" }), called(`{"a":1}`, { id: "x6" })])
      ]
    ]
  ]
  it.each(streams)("%s", (_, frames) => {
    assert.deepInclude(read(frames), {
      content: "Hello.",
      toolCalls: [{ id: "call_1", name: "f", arguments: `{"a":1}` }],
      finishReason: "tool_calls"
    })
  })

  it("is not doubled by deltas that come late", () => {
    const late = [done(0, whole), text(0, "Hello."), ended([whole])]
    assert.strictEqual(read(late).content, "Hello.")
  })

  it("makes the answer broken when it is the end of a tool call", () => {
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<JsonObject>]> = [
      ["unfinished", [added(0, called("")), args(0, `{"a":1}`), ended([])]],
      ["nameless", [args(0, "{}"), done(0, called("{}", { name: "" })), ended([])]],
      ["contradicted", [added(0, called("")), args(0, `{"b`), done(0, made), ended([])]]
    ]
    for (const [name, frames] of cases)
      assert.strictEqual(failing(streamed(openAiResponses, frames, call)), "broken", name)
  })

  it("is not looked for in a complete call that is repeated with other white space", () => {
    const frames = [added(0, called("")), args(0, `{"a":1}`), done(0, called(`{ "a": 1 }`)), ended([])]
    assert.strictEqual(read(frames).toolCalls[0]?.arguments, `{"a":1}`)
  })
})

it("is broken by a stream without its last event, whatever end marker it has", () => {
  for (const frames of [[], [text(0, "Hi.")], [text(0, "Hi."), done(0, message("Hi.")), "[DONE]"]])
    assert.strictEqual(failing(streamed(openAiResponses, frames, call)), "broken")
})

it("keeps parallel calls apart whose arguments arrive interleaved", () => {
  const other = { id: "fc_2", call_id: "call_2", name: "g" }
  const frames = [
    added(0, called("")),
    added(1, called("", other)),
    args(0, `{"a"`),
    args(1, `{"b"`),
    args(0, ":1}"),
    args(1, ":2}"),
    done(1, called(`{"b":2}`, other)),
    done(0, called(`{"a":1}`)),
    ended([])
  ]
  assert.deepStrictEqual(read(frames).toolCalls, [
    { id: "call_1", name: "f", arguments: `{"a":1}` },
    { id: "call_2", name: "g", arguments: `{"b":2}` }
  ])
})

describe("reasoning", () => {
  const summaries = ["First.", "Then."]
  const parts = summaries.flatMap((summary, summary_index) => [
    event("reasoning_summary_part.added", 0, { summary_index, part: { type: "summary_text", text: "" } }),
    ...[...summary].map((delta) => event("reasoning_summary_text.delta", 0, { summary_index, delta })),
    event("reasoning_summary_text.done", 0, { summary_index, text: summary })
  ])
  const expected = (format: string) => ({
    content: "So.",
    reasoning: "First.\n\nThen.",
    reasoningDetails: [
      { type: "reasoning.summary", summary: "First.", id: "lab/up#rs_1", format, index: 0 },
      { type: "reasoning.summary", summary: "Then.", id: "lab/up#rs_1", format, index: 1 },
      { type: "reasoning.encrypted", data: "encrypted", id: "lab/up#rs_1", format, index: 2 }
    ]
  })

  it("is the same streamed, plain, and encrypted only in the last event as Azure does", () => {
    const whole = [thought(summaries, "encrypted"), message("So.")]
    const frames = [
      added(0, thought([], "early")),
      ...parts,
      done(0, thought(summaries, "encrypted")),
      done(1, message("So."))
    ]
    assert.deepInclude(read([...frames, ended(whole)]), expected("openai-responses-v1"))
    assert.deepInclude(read([...frames, ended([])], "xai"), expected("xai-responses-v1"))
    assert.deepInclude(completed(decoded(openAiResponses, response(whole), call)), expected("openai-responses-v1"))
    const unencrypted = frames.map((frame) => ({ ...frame, item: frame["item"] && thought(summaries, null) }))
    const azure = read(
      [...unencrypted.slice(0, -2), done(0, thought(summaries, null)), text(1, "So."), ended(whole)],
      "azure"
    )
    assert.deepInclude(azure, expected("azure-openai-responses-v1"))
  })

  it("holds its position among the outputs in its id", () => {
    const output = [
      thought(["a"], "A"),
      message("Let me look."),
      thought([], "B", { id: "rs_2" }),
      called("{}"),
      thought([], "C", { id: "rs_3" }),
      called("{}", { id: "fc_2", call_id: "call_2" })
    ]
    const ids = completed(decoded(openAiResponses, response(output), call)).reasoningDetails.map(({ id }) => id)
    assert.deepStrictEqual(ids, ["lab/up#rs_1", "lab/up#rs_1", "lab/up#rs_2@1", "lab/up#rs_3@2"])
  })

  it("stays encrypted when the client excludes what is readable", () => {
    const excluding = { ...call, request: { ...call.request, reasoning: { exclude: true } } }
    const answer = completed(
      decoded(openAiResponses, response([thought(summaries, "encrypted"), message("So.")]), excluding)
    )
    assert.strictEqual(answer.reasoning, "")
    assert.deepStrictEqual(
      answer.reasoningDetails.map(({ type }) => type),
      ["reasoning.encrypted"]
    )
  })

  it("is read in full from the content of the item, where open models send it", () => {
    const item = thought([], undefined, { content: [{ type: "reasoning_text", text: "Hmm." }] })
    const frames = [
      event("reasoning_text.delta", 0, { item_id: item.id, content_index: 0, delta: "Hm" }),
      event("reasoning_text.delta", 0, { item_id: item.id, content_index: 0, delta: "m." }),
      text(1, "So."),
      ended([item, message("So.")])
    ]
    const plain = completed(decoded(openAiResponses, response([item, message("So.")]), call))
    assert.strictEqual(plain.reasoning, "Hmm.")
    assert.deepStrictEqual(read(frames), plain)
  })
})

it("joins commentary and the final answer by a line break", () => {
  const output = [
    message("Looking.", { phase: "commentary" }),
    message("", { id: "msg_2" }),
    message("Found.", { id: "msg_3", phase: "final_answer" })
  ]
  const frames = [text(0, "Look"), text(0, "ing."), text(2, "Fou"), text(2, "nd."), ended(output)]
  assert.strictEqual(read(frames).content, "Looking.\nFound.")
  assert.strictEqual(completed(decoded(openAiResponses, response(output), call)).content, "Looking.\nFound.")
})

it("keeps a refusal apart from the content, plain and streamed", () => {
  const output = [message("", { content: [{ type: "refusal", refusal: "I won't." }] })]
  const frames = [
    event("refusal.delta", 0, { content_index: 0, delta: "I " }),
    event("refusal.done", 0, { content_index: 0, refusal: "I won't." }),
    ended(output)
  ]
  const expected = { content: "", refusal: "I won't.", finishReason: "stop" } as const
  assert.deepInclude(read(frames), expected)
  assert.deepInclude(completed(decoded(openAiResponses, response(output), call)), expected)
})

it("reads the finish reason by one table", () => {
  const incomplete = (reason: unknown): JsonObject => ({
    status: "incomplete",
    incomplete_details: reason && { reason }
  })
  const cases: ReadonlyArray<readonly [JsonObject, string]> = [
    [{ status: "completed" }, "stop"],
    [incomplete("max_output_tokens"), "length"],
    [incomplete("content_filter"), "content_filter"],
    [incomplete("boredom"), "length"],
    [incomplete("safety_policy"), "content_filter"],
    [incomplete("internal_error"), "broken"],
    [incomplete(null), "broken"],
    [{ status: "failed" }, "server"],
    [{ status: "cancelled" }, "server"],
    [{ status: "in_progress" }, "broken"]
  ]
  for (const [more, expected] of cases) {
    const body = response([message("a")], more)
    const frame = { type: `response.${String(more["status"])}`, response: body }
    for (const result of [
      decoded(openAiResponses, body, call),
      streamed(openAiResponses, [text(0, "a"), frame], call)
    ]) {
      assert.strictEqual(outcome(result), expected, JSON.stringify(more))
    }
  }
})

it("ends with `length`, not with `tool_calls`, when the limit cut a call off", () => {
  const cut = called(`{"a":`, { status: "incomplete" })
  const frame = {
    type: "response.incomplete",
    response: response([cut], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
  }
  assert.deepInclude(read([added(0, called("")), args(0, `{"a":`), frame]), { finishReason: "length" })
})

it("cuts at stop sequences by itself, even if they come in pieces or over the line break between messages", () => {
  const stopping = (stop: ReadonlyArray<string>) => ({ ...call, request: { ...call.request, stop } })
  const frames = ["one E", "N", "two", "EN", "D", "three"].map((delta) => text(0, delta))
  const reader = openAiResponses.reader(stopping(["END", ""]))
  for (const frame of frames) {
    const step = reader.step({ event: "", data: JSON.stringify(frame) })
    assert.notInclude(JSON.stringify(step), "END")
  }
  const whole = message("one ENtwoENDthree")
  const answer = completed(streamed(openAiResponses, [...frames, ended([whole])], stopping(["END", ""])))
  assert.deepInclude(answer, { content: "one ENtwo", finishReason: "stop" })
  const lines = response([message("a"), message("b", { id: "msg_2" })])
  assert.strictEqual(completed(decoded(openAiResponses, lines, stopping(["\nb"]))).content, "a")
})

it("counts usage in disjoint buckets, and tells zero from what was not counted", () => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 20 },
    total_tokens: 150
  }
  const expected = { ...none, input: 30, cacheRead: 60, cacheWrite5m: 10, output: 50, reasoning: 20 }
  assert.deepStrictEqual(read([text(0, "a"), ended([], { usage })]).usage, expected)
  assert.deepStrictEqual(completed(decoded(openAiResponses, response([], { usage }), call)).usage, expected)
  for (const nothing of [undefined, null, {}])
    assert.isUndefined(read([ended([message("a")], { usage: nothing })]).usage)
  const zeros = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  assert.deepStrictEqual(read([ended([message("a")], { usage: zeros })]).usage, none)
})

it("finds errors in every form: in the response, in the last event, flat, nested, and by the name of the event", () => {
  const cases: ReadonlyArray<readonly [JsonObject, string]> = [
    [{ code: "server_error", message: "Sorry." }, "server"],
    [{ code: "rate_limit_exceeded", message: "Try again in 2s." }, "rate_limited"],
    [{ code: "insufficient_quota", message: "No money." }, "Credentials"],
    [{ code: "context_length_exceeded", message: "Too long." }, "ContextTooLong"],
    [{ code: "invalid_prompt", message: "Against the usage policy." }, "Refused"],
    [{ code: "image_parse_error", message: "Not an image." }, "Invalid"]
  ]
  for (const [error, expected] of cases) {
    const body = response([], { status: "failed", error })
    assert.strictEqual(failing(decoded(openAiResponses, body, call)), expected)
    const forms: ReadonlyArray<JsonObject> = [
      { type: "response.failed", response: body },
      { type: "error", ...error, param: null, sequence_number: 3 },
      { type: "error", error: { type: "e", ...error } }
    ]
    for (const form of forms)
      assert.strictEqual(failing(streamed(openAiResponses, [text(0, "a"), form], call)), expected, JSON.stringify(form))
    const named = openAiResponses.reader(call).step({ event: "error", data: JSON.stringify(error) })
    assert.strictEqual(failing(named), expected)
  }
  const unverifiable = { error: { message: "The encrypted content gAAA could not be verified.", code: null } }
  const failure = openAiResponses.failure({ status: 400, headers: {}, body: JSON.stringify(unverifiable) })
  assert.strictEqual(failureTag(failure), "Unsupported")
})

it("fails as broken on bodies that are not answers", () => {
  for (const body of [null, [], "x", {}, { status: "completed" }, { status: "completed", output: "x" }])
    assert.strictEqual(failing(decoded(openAiResponses, body, call)), "broken", JSON.stringify(body))
  assert.strictEqual(failing(streamed(openAiResponses, ["<html>"], call)), "broken")
})
