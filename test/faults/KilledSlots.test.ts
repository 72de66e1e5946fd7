/** Two gateways on one PostgreSQL that share a limit of two concurrent requests, one of which is killed. */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"

import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import * as Accounts from "./Accounts.ts"

const server = (bin: string) =>
  Effect.acquireRelease(
    Effect.promise(() => PostgresServer.start(bin, join(inject("scratch"), "slots"), { fsync: "off" })),
    (running) => Effect.promise(() => running.stop())
  )

const limitKeys = (url: string, limit: number) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 })
    yield* sql`UPDATE api_key SET concurrent_requests = ${limit}`
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.orDie)

const suite = Effect.fnUntraced(function* (bin: string) {
  const provider = yield* FakeProvider
  const postgres = yield* server(bin)
  const [payer] = yield* Accounts.payers(postgres.url, ["10"])
  yield* limitKeys(postgres.url, 2)
  const open = async () => {
    const gateway = new GatewayProcess(await PostgresServer.freePort(), {
      DATABASE_URL: postgres.url,
      RATE_LIMIT_RPM: "1000000",
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `${provider.url}/v1`
    })
    assert.isTrue(await gateway.ready, gateway.output.join(""))
    return gateway
  }
  const chat = async ({ url }: GatewayProcess): Promise<number | undefined> => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${payer?.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] })
    }).catch(() => undefined)
    await answer?.text()
    return answer?.status
  }
  /** Sends requests until one is admitted. */
  const admitted = async (gateway: GatewayProcess): Promise<void> => {
    while ((await chat(gateway)) !== 200) await pause(50)
  }
  yield* Effect.promise(async () => {
    const [dying, other] = [await open(), await open()]
    try {
      const opened = Promise.withResolvers<void>()
      provider.script(async (response, received) => {
        await opened.promise
        return Fake.answers("ok")(response, received)
      })
      const running = [chat(dying), chat(dying)]
      await provider.arrival(2)
      assert.strictEqual(await chat(other), 429)
      assert.strictEqual(await chat(dying), 429)
      await dying.kill()
      assert.deepStrictEqual(await Promise.all(running), [undefined, undefined])
      provider.script(Fake.answers("ok"))
      opened.resolve()
      await admitted(other)
      // Both of its slots are there again, at the same time.
      const both = Promise.withResolvers<void>()
      provider.script(async (response, received) => {
        await both.promise
        return Fake.answers("ok")(response, received)
      })
      const again = [admitted(other), admitted(other)]
      await provider.arrival(2)
      both.resolve()
      await Promise.all(again)
    } finally {
      await Promise.all([dying.kill(), other.kill()])
    }
  })
})

const bin = PostgresServer.binaries()

describe.skipIf(bin === undefined)("A gateway that is killed while it uses all slots of a key", () => {
  it.live(
    "returns them to the other gateway when its lease ends",
    () => suite(bin ?? "").pipe(Effect.scoped, Effect.provide(FakeProvider.layer)),
    300_000
  )
})
