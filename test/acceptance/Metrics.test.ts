/** `GET /metrics` after traffic of all kinds: the format, the counts, and labels that no client can multiply. */
import { assert } from "@effect/vitest"
import { Effect, Schedule } from "effect"

import { metricTable, workerMetrics } from "../../src/observability/MetricTable.ts"
import { user } from "../support/Chat.ts"
import { type Family, parseExposition, sumOf } from "../support/Exposition.ts"
import { describeGateway, TestGateway } from "../support/TestGateway.ts"
import { transcribeWith } from "../support/TranscriptionForms.ts"

type Families = ReadonlyMap<string, Family>

const scrape = Effect.gen(function* () {
  const { request } = yield* TestGateway
  const reply = yield* request("GET", "/metrics", undefined, { authorization: "" })
  assert.strictEqual(reply.status, 200, reply.text)
  assert.strictEqual(reply.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
  return parseExposition(reply.text)
})

/** How many requests have been counted, without those for the metrics themselves. */
const countIn = (families: Families): number =>
  sumOf(families, metricTable.httpRequests.name) - sumOf(families, metricTable.httpRequests.name, { route: "/metrics" })

/** A request counts when its last byte has been sent, which its client may see before. */
const scrapeAfter = (requests: number) =>
  scrape.pipe(
    Effect.repeat({
      until: (families) => countIn(families) >= requests,
      schedule: Schedule.spaced("20 millis"),
      times: 3_000
    })
  )

const calls = (families: Families, labels: Readonly<Record<string, string>>) =>
  sumOf(families, metricTable.calls.name, labels)

const chat = (model: string | undefined, text: string, stream = false) =>
  Effect.flatMap(TestGateway, (gateway) => gateway.chat({ model, stream, messages: [user(text)] }))

const route = "/v1/chat/completions"

describeGateway("The metrics", (it) => {
  it.effect("count answers, failovers, charges and refusals, in the format of Prometheus", () =>
    Effect.gen(function* () {
      const { request } = yield* TestGateway
      const plain = yield* chat("gpt-4o-mini", "[say:one two three] Hello")
      assert.strictEqual(plain.status, 200)
      yield* chat("gpt-4o-mini", "[say:one two three] Hello", true)
      yield* chat(undefined, "What is the capital of Chile?")
      yield* chat("claude-haiku-4-5", "[fault:503 first] Hello")
      yield* chat("gpt-5-mini", "[fault:cut after=2] Hello to you", true)
      yield* chat("no-such-model", "Hello")
      yield* transcribeWith({})
      yield* chat("gpt-4o", "[fault:401] Hello")
      yield* request("GET", "/v1/models")
      yield* request("GET", "/v1/models", undefined, { authorization: "Bearer nobody" })
      yield* request("GET", "/wp-admin/x.php")
      const families = yield* scrapeAfter(11)

      const served = { route, model: "gpt-4o-mini", provider: "openai" }
      assert.strictEqual(calls(families, { ...served, outcome: "completed" }), 2)
      assert.strictEqual(sumOf(families, "tollgate_call_duration_seconds_count", served), 2)
      assert.strictEqual(sumOf(families, "tollgate_first_output_seconds_count", served), 1)
      assert.strictEqual(sumOf(families, "tollgate_routing_duration_seconds_count"), 1)
      assert.strictEqual(sumOf(families, "tollgate_provider_attempts_total", { class: "Credentials" }) > 0, true)
      assert.strictEqual(calls(families, { model: "gpt-4o", provider: "none", outcome: "internal_error" }), 1)
      assert.strictEqual(sumOf(families, "tollgate_provider_account_refused", { provider: "openai" }), 1)
      const opened = sumOf(families, "tollgate_circuit_breaker_state", { provider: "openai", model: "gpt-4o" })
      assert.strictEqual(opened, 2)
      const http = (labels: Readonly<Record<string, string>>) => sumOf(families, metricTable.httpRequests.name, labels)
      assert.strictEqual(http({ route: "/v1/models", status: "401", outcome: "failed" }), 1)
      assert.strictEqual(http({ route: "/v1/models", status: "200", outcome: "completed" }), 1)
      assert.strictEqual(http({ route: "none", status: "404" }), 1)
      assert.strictEqual(http({ route, status: "200", outcome: "failed" }), 1)
      assert.strictEqual(calls(families, { model: "gpt-5-mini", outcome: "broken" }), 1)
      assert.strictEqual(sumOf(families, "tollgate_failovers_total", { provider: "anthropic" }), 1)
      assert.strictEqual(sumOf(families, "tollgate_calls_total", { route: "/v1/audio/transcriptions" }), 1)
      assert.isAbove(sumOf(families, "tollgate_hold_duration_seconds_count"), 3)
      assert.isAbove(sumOf(families, "tollgate_settle_duration_seconds_count"), 3)
      const cost = Number(plain.at("usage.cost"))
      const charged = sumOf(families, "tollgate_cost_usd_total", { model: "gpt-4o-mini" })
      assert.approximately(charged, 2 * cost, 1e-9)
      const prompt = Number(plain.at("usage.prompt_tokens"))
      const input = sumOf(families, "tollgate_tokens_total", { model: "gpt-4o-mini", kind: "input" })
      assert.strictEqual(input, 2 * prompt)
    })
  )

  it.effect("have the names, types, labels and help of the table, and nothing else", () =>
    Effect.gen(function* () {
      const families = yield* scrape
      const byName = new Map(Object.values(metricTable).map((definition) => [definition.name as string, definition]))
      for (const family of families.values()) {
        const definition = byName.get(family.name)
        assert.isDefined(definition, family.name)
        assert.strictEqual(family.type, definition?.type)
        assert.strictEqual(family.help, definition?.help)
        const labels = definition && "labels" in definition ? definition.labels : []
        for (const { labels: found } of family.samples)
          assert.sameMembers(
            Object.keys(found).filter((label) => label !== "le"),
            [...labels],
            family.name
          )
      }
      const ofWorkers = new Set<string>(Object.values(workerMetrics).map(({ name }) => name))
      for (const definition of byName.values())
        if (!("labels" in definition))
          assert.strictEqual(families.has(definition.name), !ofWorkers.has(definition.name), definition.name)
    })
  )

  it.effect("grow by nothing that a client sends", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const hostile = ['"} 1\nevil 1', "a\\", "x".repeat(500), "gpt-4o-mini\n", "../metrics", "Zoë"]
      const attack = (suffix: string) =>
        Effect.forEach(hostile, (name) =>
          Effect.gen(function* () {
            yield* gateway.chat({ model: name + suffix, messages: [user("Hello")] })
            yield* gateway.chat(
              { model: "gpt-4o-mini", metadata: { call_name: name.slice(0, 50) }, messages: [user("[say:x] Hello")] },
              { "x-end-user-id": encodeURIComponent(name) }
            )
            yield* gateway.request("GET", `/v1/models/${encodeURIComponent(name + suffix)}`)
            yield* gateway.request("GET", `/${encodeURIComponent(name + suffix)}`)
          })
        )
      const sent = 4 * hostile.length
      const series = (families: Families) => [...families.values()].map(({ name, samples }) => [name, samples.length])
      const counted = countIn(yield* scrape)
      yield* attack("1")
      const first = yield* scrapeAfter(counted + sent)
      yield* attack("2")
      const second = yield* scrapeAfter(counted + 2 * sent)
      assert.deepStrictEqual(series(second), series(first))
      const text = JSON.stringify([...second.values()])
      for (const part of ["evil", "xxx", "Zo", "..", gateway.key]) assert.notInclude(text, part)
      const listed = (yield* gateway.request("GET", "/v1/models")).at("data") as ReadonlyArray<{ readonly id: string }>
      const named = [...second.values()].flatMap(({ samples }) =>
        samples.flatMap(({ labels }) => labels["model"] ?? [])
      )
      assert.includeMembers(["other", ...listed.map(({ id }) => id)], named)
    })
  )
})

describeGateway(
  "Metrics with a key",
  (it) => {
    it.effect("are for those who have it", () =>
      Effect.gen(function* () {
        const { admin, request } = yield* TestGateway
        for (const refused of [
          request("GET", "/metrics", undefined, { authorization: "" }),
          request("GET", "/metrics"),
          admin("GET", "/metrics"),
          request("GET", "/metrics", undefined, { authorization: "scrape-key-of-prometheus" })
        ]) {
          const reply = yield* refused
          assert.deepStrictEqual([reply.status, reply.at("error.code")], [401, "unauthorized"])
        }
        const open = yield* request("GET", "/metrics", undefined, { authorization: "Bearer scrape-key-of-prometheus" })
        assert.isAbove(parseExposition(open.text).size, 10)
      })
    )
  },
  { METRICS_KEY: "scrape-key-of-prometheus" }
)

describeGateway(
  "Metrics that are switched off",
  (it) => {
    it.effect("are not found", () =>
      Effect.gen(function* () {
        const { request } = yield* TestGateway
        const reply = yield* request("GET", "/metrics")
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [404, "not_found"])
      })
    )
  },
  { METRICS: "false" }
)
