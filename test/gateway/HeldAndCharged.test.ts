/** What the use cases hold and charge, on a ledger that writes it down. A fault in any price of theirs shows here. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Layer, Stream } from "effect"

import { RateLimits } from "../../src/access/RateLimits.ts"
import { Catalog } from "../../src/catalog/Catalog.ts"
import type { CompletionEvent } from "../../src/domain/Completion.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import { heldRequestId } from "../../src/domain/Ids.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { audioPartTokens } from "../../src/domain/TokenCount.ts"
import type { Transcript } from "../../src/domain/Transcription.ts"
import { none } from "../../src/domain/Usage.ts"
import { ChooseTargets } from "../../src/gateway/ChooseTargets.ts"
import { CompleteChat } from "../../src/gateway/CompleteChat.ts"
import { TranscribeAudio } from "../../src/gateway/TranscribeAudio.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { defaultOutputTokens } from "../../src/ledger/Pricing.ts"
import { Dispatch } from "../../src/providers/dispatch/Dispatch.ts"
import { inOnePiece } from "../../src/providers/dispatch/EventPackets.ts"
import type { Target } from "../../src/providers/dispatch/Target.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { RequestLog } from "../../src/receipts/RequestLog.ts"
import { neverDrained, streamOfItems } from "../support/Packets.ts"
import { callOf, finish, request, targetOf, text, usage } from "./calls.ts"

/** A target whose prices are these multiples of a picodollar per token. */
const pricedTarget = (name: string, input: bigint, audioInput: bigint, output: bigint): Target => {
  const { endpoint, model } = targetOf(name)
  const [text, audio, written] = [picodollars(input), picodollars(audioInput), picodollars(output)]
  const rates = {
    input: text,
    cacheRead: text,
    cacheWrite5m: text,
    cacheWrite1h: text,
    audioInput: audio,
    output: written
  }
  return { model, endpoint: { ...endpoint, price: { rates, tiers: [] } } }
}

const first = pricedTarget("first", 2n, 100n, 10n)
/** Answers whatever the first one cannot. */
const second = pricedTarget("second", 3n, 1_000n, 70n)

const promptTokens = 1_000
const answerUsage = { input: 10, output: 4 }
const answerCost = 10n * 3n + 4n * 70n
const reportedEvents = [text("one two"), usage(answerUsage), finish]

interface Seen {
  readonly holds: Array<bigint>
  readonly charges: Array<bigint>
  readonly receipts: Array<Receipt>
}

interface Answering {
  readonly events: ReadonlyArray<CompletionEvent>
  readonly transcript: Transcript
  readonly settling: Effect.Effect<void>
}

/** Services whose provider answers from the second target, and whose ledger waits for `settling`. */
const services = (seen: Seen, { events, settling, transcript }: Answering) => {
  const answered = <A>(value: A) => Effect.succeed({ target: second, attempts: [], value })
  return Layer.mergeAll(
    Layer.mock(Catalog)({
      version: "v1",
      models: [],
      known: [],
      data: { providers: new Map(), models: new Map() },
      lookup: () => ({ _tag: "Unknown" }),
      account: () => undefined
    }),
    Layer.mock(RequestLog)({ record: (receipt) => Effect.sync(() => void seen.receipts.push(receipt)) }),
    Layer.mock(ChooseTargets)({
      choose: () =>
        Effect.succeed({
          targets: [first, second],
          promptTokens,
          affinity: undefined,
          routed: undefined,
          adjustments: () => [],
          confirmPin: () => Effect.void,
          observeSpeed: () => undefined
        })
    }),
    Layer.mock(Dispatch)({
      complete: () => answered(events),
      open: () => answered(inOnePiece(events)),
      transcribe: () => answered(transcript)
    }),
    Layer.mock(CreditLedger)({
      hold: ({ amount, request: id }) =>
        Effect.sync(() => {
          seen.holds.push(amount)
          return {
            request: heldRequestId(id),
            amount,
            settle: (cost, facts) =>
              Effect.as(
                Effect.andThen(
                  Effect.sync(() => seen.charges.push(cost)),
                  settling
                ),
                { charge: { amount: cost, ...(facts !== undefined && { facts }) } }
              )
          }
        })
    })
  )
}

const useCases = Layer.merge(CompleteChat.layer({ defaultOutputTokens }), TranscribeAudio.layer)

const withServices = <A, E, R>(effect: (seen: Seen) => Effect.Effect<A, E, R>, options: Partial<Answering> = {}) =>
  Effect.suspend(() => {
    const seen: Seen = { holds: [], charges: [], receipts: [] }
    const answering = {
      events: reportedEvents,
      transcript: { text: "a b c", usage: { ...none, audioInput: 30, output: 4 } },
      settling: Effect.void,
      ...options
    }
    const limits = RateLimits.layerMemory({ requestsPerMinute: 600 })
    const layer = useCases.pipe(Layer.provide(services(seen, answering)), Layer.provide(limits))
    return Effect.provide(effect(seen), layer)
  })

const chatCall = (parts: Partial<ChatRequest> = {}) => callOf({ model: "m", request: { ...request, ...parts } })

const transcriptionCall = {
  id: callOf().id,
  caller: callOf().caller,
  candidates: { requested: undefined, targets: [first, second] },
  request: {
    file: { name: "a.wav", extension: "wav", bytes: new Uint8Array(1) },
    length: { millis: 1_000, basis: "header" },
    temperature: 0
  },
  callName: undefined,
  endUserId: undefined
} as const

const complete = (parts: Partial<ChatRequest> = {}) =>
  Effect.flatMap(CompleteChat, (chat) => chat.complete(chatCall(parts)))

const transcribe = Effect.flatMap(TranscribeAudio, (audio) => audio.transcribe(transcriptionCall))

describe("The money of a request", () => {
  it.effect("is held at the first candidate's price: the text, the audio at its own, and the output", () =>
    withServices((seen) =>
      Effect.gen(function* () {
        const data = Buffer.alloc(64_000).toString("base64")
        const messages = [{ role: "user", content: [{ type: "audio", data, format: "wav" }] }] as const
        yield* complete({ maxOutputTokens: 50 })
        yield* complete({ maxOutputTokens: 50, messages })
        const audio = BigInt(audioPartTokens(data, "wav"))
        assert.isTrue(audio > 10n && audio < BigInt(promptTokens))
        const expected = [1_000n * 2n + 50n * 10n, (1_000n - audio) * 2n + audio * 100n + 50n * 10n]
        assert.deepStrictEqual(seen.holds, expected)
      })
    )
  )

  it.effect("is charged at the price of the target that answered, plain", () =>
    withServices((seen) =>
      Effect.gen(function* () {
        const answer = yield* complete()
        assert.deepStrictEqual([answer.cost, answer.model], [picodollars(answerCost), second.model.id])
        assert.deepStrictEqual(seen.charges, [answerCost])
        const [receipt] = seen.receipts
        assert.deepStrictEqual([receipt?.cost, receipt?.rates?.["output"]], [picodollars(answerCost), picodollars(70n)])
        assert.strictEqual(receipt?.served?.endpoint, second.endpoint.id)
      })
    )
  )

  it.effect("is charged at the price of the target that answered, streamed", () =>
    withServices((seen) =>
      Effect.gen(function* () {
        const { stream } = yield* CompleteChat
        const answer = yield* stream(chatCall(), neverDrained)
        const items = yield* Stream.runCollect(streamOfItems(answer.items))
        assert.deepInclude(items.at(-1), { type: "settled", cost: picodollars(answerCost) })
        assert.deepStrictEqual(seen.charges, [answerCost])
      }).pipe(Effect.scoped)
    )
  )

  it.effect("is held at the first candidate's price for a transcription, and charged at that of who answered", () =>
    withServices((seen) =>
      Effect.gen(function* () {
        const answer = yield* transcribe
        // For a chat model: 32 tokens a second, and as many words as a fast speaker says.
        assert.deepStrictEqual(seen.holds, [32n * 100n + 6n * 10n])
        assert.strictEqual(answer.cost, picodollars(30n * 1_000n + 4n * 70n))
        assert.deepStrictEqual(seen.charges, [BigInt(answer.cost)])
      })
    )
  )

  it.effect("is not charged by what no model can have consumed", () =>
    withServices(
      (seen) =>
        Effect.gen(function* () {
          const answer = yield* transcribe
          assert.isBelow(answer.usage.output, 10)
          assert.isTrue(seen.receipts[0]?.usageEstimated)
        }),
      { transcript: { text: "a b c", usage: { ...none, audioInput: 30, output: 1e15 } } }
    )
  )

  it.effect("is charged for no more output than the request allowed, where the provider reports nothing", () =>
    withServices(
      (seen) =>
        Effect.gen(function* () {
          const answer = yield* complete({ maxOutputTokens: 5 })
          assert.strictEqual(answer.usage.output, 5)
          assert.deepStrictEqual(seen.charges, [BigInt(promptTokens) * 3n + 5n * 70n])
        }),
      { events: [text("word ".repeat(50)), finish] }
    )
  )

  const settlements = {
    "a plain answer": Effect.asVoid(complete()),
    "a streamed answer": Effect.gen(function* () {
      const { stream } = yield* CompleteChat
      const { items } = yield* stream(chatCall(), neverDrained)
      yield* Stream.runDrain(streamOfItems(items))
    }).pipe(Effect.scoped),
    "a transcription": Effect.asVoid(transcribe)
  }
  for (const [what, settlement] of Object.entries(settlements))
    it.effect(`is settled to the end, with its receipt, although ${what} is interrupted in the middle of it`, () =>
      Effect.gen(function* () {
        const latch = yield* Latch.make()
        const begun = yield* Deferred.make<void>()
        yield* withServices(
          (seen) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.forkChild(settlement)
              yield* Deferred.await(begun)
              fiber.interruptUnsafe()
              for (let turns = 0; turns < 10; turns++) yield* Effect.yieldNow
              assert.deepStrictEqual([seen.charges.length, seen.receipts.length], [1, 0])
              yield* latch.open
              yield* Fiber.await(fiber)
              const [receipt] = seen.receipts
              assert.deepStrictEqual(
                [receipt?.cost, receipt?.outcome],
                [picodollars(seen.charges[0] ?? 0n), "completed"]
              )
            }),
          { settling: Effect.andThen(Deferred.succeed(begun, undefined), latch.await) }
        )
      })
    )
})
