/** Requests to `POST /v1/chat/completions` and what is read from the answers, for suites that use `TestGateway`. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { APIError } from "openai"

import { modelId, type OrganizationId } from "../../src/domain/Ids.ts"
import type { Picodollars } from "../../src/domain/Money.ts"
import { type Tenant, TestGateway, usd } from "./TestGateway.ts"

export type Json = { readonly [key: string]: unknown }

export const user = (content: string) => ({ role: "user", content }) as const

export const as = (tenant: Tenant) => ({ authorization: `Bearer ${tenant.key}` })

/** The chunks of a stream, as they were sent. Fails the test unless the stream ends with `[DONE]`. */
export const chunksOf = (text: string): ReadonlyArray<Json> => {
  const data = text
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: "))
    .map((frame) => frame.slice("data: ".length))
  assert.strictEqual(data.at(-1), "[DONE]", "the last frame of a stream")
  return data.slice(0, -1).map((chunk) => JSON.parse(chunk))
}

/** A member deep inside JSON: `at(chunk, "choices", 0, "delta")`. */
export const at = (json: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined),
    json
  )

/** The text of all chunks together. */
export const textIn = (chunks: ReadonlyArray<Json>): string =>
  chunks.map((chunk) => at(chunk, "choices", 0, "delta", "content") ?? "").join("")

/** The error of a call of the SDK. Fails the test when the call succeeds. */
export const refusal = (call: () => Promise<unknown>): Effect.Effect<APIError> =>
  Effect.promise(() =>
    call().then(
      () => assert.fail("the call was answered"),
      (error: unknown) => (error instanceof APIError ? error : Promise.reject(error))
    )
  )

/** What a promise resolves to. Fails the test when it takes more than a minute, so that its name is in the report. */
export const awaited = <A>(event: Promise<A>, what: string): Effect.Effect<A> =>
  Effect.promise(() => event).pipe(
    Effect.timeoutOrElse({ duration: "1 minute", orElse: () => Effect.die(`${what}: not within a minute`) })
  )

/** Repeats an effect until it gives a value, for what happens soon after an answer. Fails after a minute. */
export const eventually = <A, E, R>(
  attempt: Effect.Effect<A | undefined, E, R>,
  what: string
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let tries = 0; tries < 3_000; tries++) {
      const value = yield* attempt
      if (value !== undefined) return value
      yield* Effect.sleep("20 millis")
    }
    return assert.fail(`${what}: not within a minute`)
  })

/** The receipt of a request, once it is stored. */
export const receiptOf = Effect.fnUntraced(function* (id: unknown, tenant?: Tenant) {
  const gateway = yield* TestGateway
  const look = gateway.request("GET", `/v1/generations/${String(id)}`, undefined, tenant && as(tenant))
  return yield* eventually(
    Effect.map(look, (reply) => (reply.status === 200 ? reply : undefined)),
    "the receipt"
  )
})

/** The available balance of an organization, once it has no open holds. */
export const settledBalance = Effect.fnUntraced(function* (organization?: OrganizationId) {
  const gateway = yield* TestGateway
  const look = Effect.map(gateway.balance(organization), ({ available, held }) => (held === 0n ? available : undefined))
  return yield* eventually(look, "the end of all holds")
})

/** `usage.cost` of an answer, in picodollars. */
export const costOf = (answer: Json | undefined): Picodollars => {
  const cost = at(answer, "usage", "cost")
  return usd(Number(cost).toFixed(12))
}

/** What tokens cost by the prices that the model publishes, in picodollars. */
export const priced = Effect.fnUntraced(function* (
  model: string,
  tokens: { readonly [bucket: string]: number },
  tier?: number
) {
  const gateway = yield* TestGateway
  const card = yield* gateway.request("GET", `/v1/models/${model}`)
  const base = "svc.price_usd_per_mtok"
  return Object.entries(tokens).reduce((sum, [bucket, count]) => {
    const price = card.at(tier === undefined ? `${base}.${bucket}` : `${base}.tiers.${tier}.${bucket}`)
    return sum + (usd(String(price)) / 1_000_000n) * BigInt(count)
  }, 0n)
})

export const weatherTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
  }
} as const

export const timeTool = {
  type: "function",
  function: { name: "get_time", parameters: { type: "object", properties: {} } }
} as const

/**
 * Models with one endpoint each: when the first fails, another model answers, not another endpoint of the same model.
 */
export const singleEndpointModels = ["gpt-5-nano", "gpt-5-mini", "gpt-5.4"].map((id) => modelId(id))
