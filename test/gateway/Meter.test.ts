import { assert, describe, it } from "@effect/vitest"

import type { CompletionEvent } from "../../src/domain/Completion.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import { none, type Usage, usageBounds } from "../../src/domain/Usage.ts"
import { Meter } from "../../src/gateway/Meter.ts"
import { finish, request, text, usage } from "./calls.ts"

const meterOf = (parts: Partial<ChatRequest> = {}, outputLimit = 100) =>
  new Meter({
    request: { ...request, ...parts },
    promptTokens: 40,
    outputLimit,
    bounds: usageBounds({ promptTokens: 40, contextWindow: 1_000_000, maxOutputTokens: 1_000 })
  })

const afterAll = (meter: Meter, ...events: ReadonlyArray<CompletionEvent>): Meter => {
  for (const event of events) meter.pass([event])
  return meter
}

const reasoning: CompletionEvent = { type: "reasoning", text: "hm hm" }
const shown: CompletionEvent = { type: "detail", detail: { type: "reasoning.text", text: "hm hm" } }
const summary: CompletionEvent = { type: "detail", detail: { type: "reasoning.summary", summary: "hm" } }
const signed: CompletionEvent = { type: "detail", detail: { type: "reasoning.text", text: "", signature: "c2ln" } }
const encrypted: CompletionEvent = { type: "detail", detail: { type: "reasoning.encrypted", data: "c2ln" } }
const tool: CompletionEvent = { type: "tool", index: 0, id: "call_1", name: "look" }
const fragment: CompletionEvent = { type: "arguments", index: 0, fragment: "{}" }

describe("Meter", () => {
  it("passes on every event that a client sees, and holds back usage and finish reason", () => {
    const all = [reasoning, shown, summary, signed, encrypted, text("a"), tool, fragment, usage({ input: 1 }), finish]
    const meter = meterOf()
    assert.deepStrictEqual(meter.pass(all), [reasoning, shown, summary, signed, encrypted, text("a"), tool, fragment])
    assert.strictEqual(meter.finishReason, "stop")
  })

  for (const hidden of [
    { exclude: true },
    { exclude: false, enabled: false },
    { exclude: false, effort: "none" }
  ] as const)
    it(`hides the text of reasoning on ${JSON.stringify(hidden)}, but not the blocks that the next turn needs`, () => {
      const meter = meterOf({ reasoning: hidden })
      assert.deepStrictEqual(meter.pass([reasoning, shown, summary]), [])
      assert.isFalse(meter.hasDelivered)
      assert.deepStrictEqual(meter.pass([signed, encrypted, text("a")]), [signed, encrypted, text("a")])
      assert.isTrue(meter.hasDelivered)
    })

  it("meters a complete answer by the last usage that the provider reported", () => {
    const meter = afterAll(
      meterOf(),
      usage({ input: 9, output: 1 }),
      text("a b c"),
      finish,
      usage({ input: 9, output: 3 })
    )
    assert.deepStrictEqual(meter.complete(), { usage: { ...none, input: 9, output: 3 }, estimated: false })
  })

  it("estimates the usage, hidden reasoning included, up to the output limit, when the provider reported none", () => {
    const few = afterAll(meterOf({ reasoning: { exclude: true } }), reasoning, text(" one two"), finish)
    const counted = { usage: { ...none, input: 40, output: 4 }, estimated: true }
    assert.deepStrictEqual(few.complete(), { ...counted, unreported: true })
    const many = afterAll(meterOf({}, 5), text("word ".repeat(50)), finish)
    assert.strictEqual(many.complete().usage.output, 5)
  })

  const left: ReadonlyArray<readonly [when: string, events: ReadonlyArray<CompletionEvent>, expected: object]> = [
    ["no usage was reported: the estimated prompt and the delivered output", [text("a b c")], { input: 40, output: 3 }],
    [
      "the prompt was reported early: that, and the delivered output where it is more",
      [usage({ input: 7, cacheRead: 2, output: 1 }), text("a b c")],
      { input: 7, cacheRead: 2, output: 3 }
    ],
    [
      "the reported output is more than the delivered: the reported",
      [text("a"), usage({ input: 7, output: 6 })],
      { input: 7, output: 6 }
    ],
    [
      "the reported prompt is empty: the estimated prompt",
      [usage({ output: 1 }), text("a b c")],
      { input: 40, output: 3 }
    ],
    [
      "usage was reported with the finish reason: exactly that",
      [text("a b c"), usage({ input: 7, output: 2, reasoning: 1 }), finish],
      { input: 7, output: 2, reasoning: 1 }
    ]
  ]
  for (const [when, events, expected] of left)
    it(`meters, when the client left and ${when}`, () => {
      assert.deepStrictEqual(afterAll(meterOf(), ...events).delivered().usage, { ...none, ...expected })
    })
})

describe("Meter, of what a provider reports,", () => {
  const mostPrompt = 300_000 + 2 * 40
  const believed: ReadonlyArray<Partial<Usage>> = [
    { input: mostPrompt, output: 1_000 },
    { input: 1, cacheRead: mostPrompt - 4, cacheWrite5m: 1, cacheWrite1h: 1, audioInput: 1, output: 1 }
  ]
  const implausible: Record<string, Partial<Usage>> = {
    "a prompt far beyond the local count": { input: mostPrompt + 1 },
    "a prompt whose parts add up to that": { input: mostPrompt, cacheRead: 1 },
    "more output than the model can write": { input: 9, output: 1_001 },
    "numbers that no bill could hold": { input: 9, output: Number.MAX_VALUE }
  }
  for (const counts of believed)
    it(`believes a provider that reports ${JSON.stringify(counts)}`, () => {
      const meter = afterAll(meterOf(), text("a b c"), usage(counts), finish)
      const expected = { usage: { ...none, ...counts }, estimated: false }
      assert.deepStrictEqual([meter.complete(), meter.delivered()], [expected, expected])
    })
  for (const [what, counts] of Object.entries(implausible))
    it(`counts for itself, and says so, where a provider reports ${what}`, () => {
      const reported = { ...none, ...counts }
      const expected = { usage: { ...none, input: 40, output: 3 }, estimated: true, implausible: reported }
      const events = [text("a b c"), usage(counts)]
      assert.deepStrictEqual(afterAll(meterOf(), ...events).delivered(), expected)
      const whole = afterAll(meterOf(), ...events, finish)
      assert.deepStrictEqual([whole.complete(), whole.delivered()], [expected, expected])
    })
})

describe("Meter, of a provider that reports too little,", () => {
  const tooLittle: Record<string, readonly [reported: Partial<Usage>, charged: Partial<Usage>]> = {
    "zero for everything": [{}, { input: 40, output: 3 }],
    "an empty prompt": [
      { output: 7, reasoning: 5 },
      { input: 40, output: 7, reasoning: 5 }
    ],
    "no output": [
      { input: 9, cacheRead: 2 },
      { input: 9, cacheRead: 2, output: 3 }
    ]
  }
  const outputs: Record<string, ReadonlyArray<CompletionEvent>> = {
    text: [text("a b c")],
    "a refusal": [{ type: "refusal", text: "a b c" }],
    reasoning: [{ type: "reasoning", text: "a b c" }],
    "a tool call": [
      { ...tool, name: "a b" },
      { ...fragment, fragment: " c" }
    ]
  }
  for (const [what, [counts, charged]] of Object.entries(tooLittle))
    for (const [sort, events] of Object.entries(outputs))
      it(`counts what is missing, and says so: ${what} for ${sort}`, () => {
        const expected = { usage: { ...none, ...charged }, estimated: true, implausible: { ...none, ...counts } }
        const meter = afterAll(meterOf(), ...events, usage(counts), finish)
        assert.deepStrictEqual([meter.complete(), meter.delivered()], [expected, expected])
      })

  it("believes a report of zero for an answer without output, and one without output of its own count", () => {
    const free = { usage: none, estimated: false }
    assert.deepStrictEqual(afterAll(meterOf(), usage({}), finish).complete(), free)
    assert.deepStrictEqual(afterAll(meterOf(), text(""), usage({}), finish).complete(), free)
    const empty = { usage: { ...none, input: 9 }, estimated: false }
    assert.deepStrictEqual(afterAll(meterOf(), usage({ input: 9 }), finish).complete(), empty)
    assert.deepStrictEqual(afterAll(meterOf(), encrypted, usage({ input: 9 }), finish).complete(), empty)
    const hidden = afterAll(meterOf(), usage({ output: 9, reasoning: 9 }), finish).complete()
    assert.deepStrictEqual(hidden.usage, { ...none, input: 40, output: 9, reasoning: 9 })
  })

  it("counts the audio of a prompt apart, which has a price of its own", () => {
    const data = Buffer.alloc(6_000).toString("base64")
    const messages = [{ role: "user", content: [{ type: "audio", data, format: "wav" }] }] as const
    const { usage: counted } = afterAll(meterOf({ messages }), text("a"), finish).complete()
    assert.deepStrictEqual([counted.audioInput, counted.input], [6, 34])
  })

  it("believes no prompt beyond the context window, however long the local count says it is", () => {
    const bounds = usageBounds({ promptTokens: 100_000, contextWindow: 200_000, maxOutputTokens: 1_000 })
    assert.strictEqual(bounds.prompt, 200_000)
    assert.strictEqual(usageBounds({ promptTokens: 100_000, maxOutputTokens: 1 }).prompt, 500_000)
  })
})
