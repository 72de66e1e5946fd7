/**
 * The first of three endpoints dies in the middle of load. Whoever has not heard anything yet is answered by another
 * endpoint and notices nothing; whoever has is told so, and pays nothing.
 */
import { writeFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { inject } from "vitest"

import { as, at, chunksOf, costOf, eventually, type Json, settledBalance, textIn, user } from "../support/Chat.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { openaiChunk, openaiUsageChunk } from "../support/ScriptedProvider.ts"
import { layerGateway, onEngines, type Services, TestGateway, usd } from "../support/TestGateway.ts"

interface Endpoint {
  readonly url: string
  readonly answers: () => number
  /** Streams that have said most of what they will say. */
  readonly speaking: () => number
  /** Drops every connection at once, and takes no more. */
  readonly kill: () => void
}

class Endpoints extends Context.Service<Endpoints, ReadonlyArray<Endpoint>>()("test/Endpoints") {}

const words = ["One ", "two ", "three ", "four ", "five."]
const whole = words.join("")
const pause = () => new Promise((resolve) => setTimeout(resolve, 15))

const talk = async (response: ServerResponse, stream: boolean, speaking: Set<ServerResponse>): Promise<void> => {
  if (!stream) {
    await pause()
    const message = { role: "assistant", content: whole }
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ id: "c", choices: [{ index: 0, message, finish_reason: "stop" }], usage }))
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
  response.write(openaiChunk({ role: "assistant", content: "" }))
  for (const [index, content] of words.entries()) {
    await pause()
    response.write(openaiChunk({ content }))
    if (index > 1) speaking.add(response)
  }
  speaking.delete(response)
  response.end(openaiChunk({}, "stop") + openaiUsageChunk() + "data: [DONE]\n\n")
}

const endpoint = Effect.acquireRelease(
  Effect.callback<Endpoint>((resume) => {
    let answers = 0
    const speaking = new Set<ServerResponse>()
    const server = createServer((incoming, response) => {
      let text = ""
      incoming.on("data", (chunk) => (text += String(chunk)))
      incoming.on("end", () => {
        answers++
        void talk(response, JSON.parse(text).stream === true, speaking)
      })
    }).listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const kill = () => {
        server.close()
        server.closeAllConnections()
      }
      const url = `http://127.0.0.1:${port}`
      resume(Effect.succeed({ url, answers: () => answers, speaking: () => speaking.size, kill }))
    })
  }),
  ({ kill }) => Effect.sync(kill)
)

/** One model at three providers; each has a price of its own, so that a charge tells who served. */
const environmentOf = (endpoints: ReadonlyArray<Endpoint>): Environment => {
  const file = join(inject("scratch"), `three-${process.pid}.json`)
  const providers = endpoints.map(({ url }, index) => ({
    id: `p${index}`,
    protocol: "openai-chat",
    base_url: url,
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
    "is served by the others, and only those who were being told something hear of it",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const [first, ...others] = yield* Endpoints
        const tenant = yield* gateway.tenant("5")
        let [killed, sinceKill] = [false, 0]

        const ask = Effect.fnUntraced(function* (stream: boolean) {
          const afterKill = killed
          if (killed) sinceKill++
          const reply = yield* gateway.chat({ model: "three", messages: [user("Count.")], stream }, as(tenant))
          // Before the first output, nobody hears of a fault.
          assert.strictEqual(reply.status, 200, reply.text)
          if (!stream) {
            assert.strictEqual(reply.at("choices.0.message.content"), whole)
            return { last: JSON.parse(reply.text), isBroken: false, afterKill } satisfies Ending
          }
          const chunks = chunksOf(reply.text)
          const last = chunks.at(-1) ?? {}
          const said = textIn(chunks)
          const isBroken = "error" in last
          if (isBroken) {
            assert.notStrictEqual(said, "")
            assert.isTrue(whole.startsWith(said))
            assert.strictEqual(at(last, "error", "code"), "internal_error")
            assert.strictEqual(at(last, "choices", 0, "finish_reason"), "error")
            assert.strictEqual(at(last, "usage", "cost"), 0)
          } else assert.strictEqual(said, whole)
          return { last, isBroken, afterKill } satisfies Ending
        })

        const client = Effect.fnUntraced(function* (number: number) {
          const endings: Array<Ending> = []
          while (sinceKill < phase) endings.push(yield* ask((number + endings.length) % 2 === 0))
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
          while ((first?.answers() ?? 0) < phase || first?.speaking() === 0) yield* Effect.sleep("1 millis")
          killed = true
          first?.kill()
        })
        const [perClient] = yield* Effect.all([load, killing], { concurrency: "unbounded" })
        const endings = perClient.flat()
        const broken = endings.filter(({ isBroken }) => isBroken)
        const answered = endings.filter(({ isBroken }) => !isBroken)

        assert.isAtLeast(endings.filter(({ afterKill }) => afterKill).length, phase, "requests after its death")
        assert.isAbove(broken.length, 0, "streams that it was cut off in")
        assert.isAtMost(broken.length, clients, "no more than were open at once")
        assert.isFalse(
          broken.some(({ afterKill }) => afterKill),
          "a stream that began later is not broken"
        )
        assert.isAbove(others[0]?.answers() ?? 0, clients, "answers of the second endpoint")

        const spent = answered.reduce((sum, { last }) => sum + costOf(last), 0n)
        assert.strictEqual(usd("5") - (yield* settledBalance(tenant.organization)), spent)
        yield* eventually(
          Effect.map(gateway.openHolds, (count) => count === 0 || undefined),
          "the end of all holds"
        )
      }),
    30_000
  )
})
