/** What requests with a hard cap hold, and the targets and limits that a hold pays for. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { costOf, type Price } from "../../src/catalog/Price.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { none } from "../../src/domain/Usage.ts"
import { cappedRequest } from "../../src/gateway/HardCap.ts"
import { outputWithin, promptBound, worstCost } from "../../src/ledger/WorstCase.ts"
import type { Target } from "../../src/providers/dispatch/Target.ts"
import { request, targetOf } from "./calls.ts"

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const ratesOf = ([
  input = 0,
  cacheRead = 0,
  cacheWrite5m = 0,
  cacheWrite1h = 0,
  audioInput = 0,
  output = 0
]: ReadonlyArray<number>) => ({
  input: picodollars(BigInt(input)),
  cacheRead: picodollars(BigInt(cacheRead)),
  cacheWrite5m: picodollars(BigInt(cacheWrite5m)),
  cacheWrite1h: picodollars(BigInt(cacheWrite1h)),
  audioInput: picodollars(BigInt(audioInput)),
  output: picodollars(BigInt(output))
})

const SixRates = Schema.Array(upTo(99)).check(Schema.isMinLength(6), Schema.isMaxLength(6))

const withText = (text: string, parts: Partial<ChatRequest> = {}): ChatRequest => ({
  ...request,
  messages: [{ role: "user", content: [{ type: "text", text, cacheControl: { ttl: "1h" } }] }],
  ...parts
})

/** Costs this many picodollars per output token, and nothing for the prompt. */
const writingAt = (name: string, output: number): Target => {
  const { endpoint, model } = targetOf(name)
  return { model, endpoint: { ...endpoint, price: { rates: ratesOf([0, 0, 0, 0, 0, output]), tiers: [] } } }
}

describe("The worst case of a request", () => {
  it.prop(
    "is never less than what its bytes can cost, in any bucket and price tier",
    {
      text: Schema.String,
      rates: SixRates,
      dearer: SixRates,
      above: upTo(200),
      shares: Schema.Array(upTo(100)).check(Schema.isMinLength(4), Schema.isMaxLength(4)),
      output: upTo(1_000)
    },
    ({ above, dearer, output, rates, shares, text }) => {
      const price: Price = { rates: ratesOf(rates), tiers: [{ abovePromptTokens: above, rates: ratesOf(dearer) }] }
      const { endpoint } = targetOf("a")
      let left = Buffer.byteLength(text)
      const [input = 0, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0] = shares.map((share) => {
        const taken = Math.floor((left * share) / 100)
        left -= taken
        return taken
      })
      const cost = costOf(price, { ...none, input, cacheRead, cacheWrite5m, cacheWrite1h, output })
      const worst = worstCost({ ...endpoint, price }, promptBound(withText(text)), output)
      assert.isTrue(cost <= worst, `${cost} of ${worst}`)
    }
  )

  it("is a part of a picodollar where prices are, and rounded up", () => {
    const { endpoint } = targetOf("a")
    const priced = (divisor: bigint) => ({
      ...endpoint,
      price: { rates: ratesOf([0, 0, 0, 0, 0, 7]), tiers: [], divisor }
    })
    const bound = promptBound(withText(""))
    assert.deepStrictEqual([worstCost(priced(10n), bound, 3), worstCost(priced(7n), bound, 3)], [3n, 3n] as never)
    assert.strictEqual(outputWithin(priced(10n), bound, { limit: 1_000, most: picodollars(7n) }), 10)
  })

  it("counts tools, schemas, images, audio and what is sent back of earlier answers", () => {
    const base = promptBound(withText("x")).text
    const schema = { type: "object", properties: { long: { type: "string", description: "d".repeat(500) } } }
    const bounds = [
      withText("x", { tools: [{ name: "t", parameters: schema }] }),
      withText("x", { responseFormat: { type: "json_schema", name: "s", strict: true, schema } }),
      withText("x", { messages: [{ role: "user", content: [{ type: "image", url: "https://example.com/a.png" }] }] }),
      withText("x", {
        messages: [
          {
            role: "assistant",
            content: [],
            toolCalls: [],
            reasoningDetails: [{ type: "reasoning.encrypted", data: "e".repeat(500) }]
          }
        ]
      })
    ].map((one) => promptBound(one).text)
    for (const bound of bounds) assert.isAtLeast(bound, base + 400)
    const audio = promptBound(
      withText("x", {
        messages: [{ role: "user", content: [{ type: "audio", data: "A".repeat(4_000), format: "opus" }] }]
      })
    )
    // Three thousand bytes are at most four seconds.
    assert.strictEqual(audio.audio, 128)
  })
})

describe("A request with a hard cap", () => {
  const [cheap, dear] = [writingAt("cheap", 10), writingAt("dear", 40)]

  it("holds all the output that it may be given, and makes do with what it is expected to need", () => {
    const { holdOptions } = cappedRequest(request, [cheap], 300)
    const { amount, hardCap, reduce } = holdOptions
    assert.deepStrictEqual([amount, hardCap], [10_000n, { modest: 3_000n, waits: false }] as never)
    assert.deepStrictEqual([reduce?.(picodollars(9_999n)), reduce?.(picodollars(2_559n))], [9_990n, undefined] as never)
    const limited = cappedRequest({ ...request, maxOutputTokens: 50 }, [cheap], 50)
    assert.deepStrictEqual(limited.holdOptions.hardCap, { modest: 500n, waits: true } as never)
  })

  it("gives every target the output for which the hold pays there, and leaves out where that is too little", () => {
    const { within } = cappedRequest(request, [cheap, dear], 300)
    const limitsAt = (held: bigint) => {
      const { outputLimits, targets } = within(picodollars(held))
      return [targets.map(({ endpoint }) => endpoint.id), [...outputLimits.values()]]
    }
    const [first, second] = [cheap.endpoint.id, dear.endpoint.id]
    assert.deepStrictEqual(limitsAt(40_000n), [[first, second], []])
    assert.deepStrictEqual(limitsAt(12_000n), [[first, second], [300]])
    assert.deepStrictEqual(limitsAt(10_000n), [[first], []])
    assert.deepStrictEqual(limitsAt(5_000n), [[first], [500]])
  })
})
