/**
 * The first of three endpoints dies under load. Clients that have received no output yet are answered by another
 * endpoint and notice nothing; the others get an error at the end of their stream, and pay nothing.
 */
import { writeFileSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { inject } from "vitest"

import { as, at, chunksOf, costOf, eventually, type Json, settledBalance, textIn, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { layerGateway, onEngines, type Services, TestGateway, usd } from "../support/TestGateway.ts"

/** An endpoint that writes slowly, and counts the streams that it is in the middle of. */
interface SlowEndpoint {
  readonly server: Fake.FakeServer
  /** Streams of which most, but not all, has been written. */
  readonly inProgress: () => number
}

class Endpoints extends Context.Service<Endpoints, ReadonlyArray<SlowEndpoint>>()("test/Endpoints") {}

const words = ["One ", "two ", "three ", "four ", "five."]
const whole = words.join("")
const pauseMillis = 15

const writeSlowly =
  (inProgress: Set<ServerResponse>): Fake.Behaviour =>
  async (response, received) => {
    const { end, plain, start } = Fake.answerIn("openai-chat")
    if (received.body["stream"] !== true) {
      await Fake.pause(pauseMillis)
      return Fake.reply(200, plain(whole))(response, received)
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
    response.write(Buffer.concat(start))
    for (const [index, content] of words.entries()) {
      await Fake.pause(pauseMillis)
      response.write(Fake.openaiChunk({ content }))
      if (index > 1) inProgress.add(response)
    }
    inProgress.delete(response)
    return response.end(Buffer.concat(end))
  }

const endpoint = Effect.acquireRelease(
  Effect.map(
    Effect.promise(() => Fake.FakeServer.start()),
    (server): SlowEndpoint => {
      const inProgress = new Set<ServerResponse>()
      server.script(writeSlowly(inProgress))
      return { server, inProgress: () => inProgress.size }
    }
  ),
  ({ server }) => Effect.sync(() => server.close())
)

/** One model at three providers, each with a price of its own: a charge shows which of them answered. */
const environmentOf = (endpoints: ReadonlyArray<SlowEndpoint>): Environment => {
  const file = join(inject("scratch"), `three-${process.pid}.json`)
  const providers = endpoints.map(({ server }, index) => ({
    id: `p${index}`,
    protocol: "openai-chat",
    base_url: server.url,
    api_key_env: "THREE_API_KEY"
  }))
  const served = providers.map(({ id }, index) => ({
    provider: id,
    price_usd_per_mtok: { input: index + 1, output: 2 }
  }))
  const model = { id: "three", context_window: 8_000, max_output: 1_000, endpoints: served }
  writeFileSync(file, JSON.stringify({ providers, models: [model] }))
  return { CATALOG_FILE: file, THREE_API_KEY: "sk-of-the-operator", RATE_LIMIT_RPM: "1000000" }
}

const gatewayOn = (database: Environment): Layer.Layer<Services | Endpoints> =>
  Layer.unwrap(Effect.map(Endpoints, (three) => layerGateway({ ...database, ...environmentOf(three) }))).pipe(
    Layer.provideMerge(Layer.effect(Endpoints, Effect.all([endpoint, endpoint, endpoint])))
  )

/** How one request ended for its client. */
interface Ending {
  readonly last: Json
  readonly isBroken: boolean
  readonly afterKill: boolean
}

const clients = 50
/** Requests before the endpoint dies, and after. */
const phase = 150

onEngines("A model whose first endpoint dies under load", gatewayOn, (it) => {
  it.effect(
    "is served by the others, and only streams that had begun end with an error",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const [first = assert.fail(), ...others] = yield* Endpoints
        const tenant = yield* gateway.tenant("5")
        let [killed, sinceKill] = [false, 0]

        const request = Effect.fnUntraced(function* (stream: boolean) {
          const afterKill = killed
          if (killed) sinceKill++
          const reply = yield* gateway.chat({ model: "three", messages: [user("Count.")], stream }, as(tenant))
          // A fault before the first output is hidden.
          assert.strictEqual(reply.status, 200, reply.text)
          if (!stream) {
            assert.strictEqual(reply.at("choices.0.message.content"), whole)
            return { last: JSON.parse(reply.text), isBroken: false, afterKill } satisfies Ending
          }
          const chunks = chunksOf(reply.text)
          const last = chunks.at(-1) ?? {}
          const text = textIn(chunks)
          const isBroken = "error" in last
          if (isBroken) {
            assert.notStrictEqual(text, "")
            assert.isTrue(whole.startsWith(text))
            assert.strictEqual(at(last, "error", "code"), "internal_error")
            assert.strictEqual(at(last, "choices", 0, "finish_reason"), "error")
            assert.strictEqual(at(last, "usage", "cost"), 0)
          } else assert.strictEqual(text, whole)
          return { last, isBroken, afterKill } satisfies Ending
        })

        const client = Effect.fnUntraced(function* (number: number) {
          const endings: Array<Ending> = []
          while (sinceKill < phase) endings.push(yield* request((number + endings.length) % 2 === 0))
          return endings
        })
        const load = Effect.forEach(
          Array.from({ length: clients }, (_, number) => client(number)),
          (one) => one,
          {
            concurrency: "unbounded"
          }
        )
        const killing = Effect.gen(function* () {
          yield* Effect.promise(() => first.server.arrival(phase))
          while (first.inProgress() === 0) yield* Effect.sleep("1 millis")
          killed = true
          first.server.close()
        })
        const [perClient] = yield* Effect.all([load, killing], { concurrency: "unbounded" })
        const endings = perClient.flat()
        const broken = endings.filter(({ isBroken }) => isBroken)
        const answered = endings.filter(({ isBroken }) => !isBroken)

        assert.isAtLeast(endings.filter(({ afterKill }) => afterKill).length, phase, "requests after its death")
        assert.isAbove(broken.length, 0, "streams that its death cut off")
        assert.isAtMost(broken.length, clients, "no more than were open at once")
        assert.isFalse(
          broken.some(({ afterKill }) => afterKill),
          "a stream that began later is not broken"
        )
        assert.isAbove(others[0]?.server.received.length ?? 0, clients, "answers of the second endpoint")

        const spent = answered.reduce((sum, { last }) => sum + costOf(last), 0n)
        assert.strictEqual(usd("5") - (yield* settledBalance(tenant.organization)), spent)
        yield* eventually(
          Effect.map(gateway.openHolds, (count) => count === 0 || undefined),
          "the end of all holds"
        )
      }),
    300_000
  )
})
