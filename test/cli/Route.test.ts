/** `tollgate route rank` and `explain` as processes: their input, their output and their exit codes. */
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Option, Result } from "effect"
import { inject } from "vitest"

import { axes } from "../../src/catalog/Model.ts"
import * as RouteCatalog from "../../src/cli/RouteCatalog.ts"
import { decide } from "../../src/cli/RouteDecision.ts"
import { Router } from "../../src/routing/Router.ts"
import { type Json, timeTool, user } from "../support/Chat.ts"
import { root } from "../support/SourceTree.ts"
import { tollgate } from "./Tollgate.ts"

const flat = (skill: number) => Object.fromEntries(axes.map((axis) => [axis, skill]))

/** Two models that cannot reason, at a provider that the file does not list, with windows as large as their answers. */
const pair = (() => {
  const file = join(inject("scratch"), `route-catalog-${process.pid}.json`)
  const model = (id: string, price: number, skill: number) => ({
    id,
    context_window: 4_096,
    max_output: 4_096,
    endpoints: [{ provider: "openai", price_usd_per_mtok: { input: price, output: price } }],
    profiles: { none: flat(skill) }
  })
  writeFileSync(file, JSON.stringify({ models: [model("strong", 10, 0.9), model("weak", 1, 0.3)] }))
  return file
})()

const hard = "Prove that every finite abelian group is a direct product of cyclic groups. State every lemma."
const bodies: ReadonlyArray<Json> = [
  { messages: [user("What is the capital of Australia?")] },
  { model: "gpt-4o", messages: [user(`Separated\u2028by no line\u2029feed\u0085: ${hard}`)], reasoning_effort: "none" },
  { messages: [user("What time is it?")], tools: [timeTool], tool_choice: "required", reasoning: { effort: "low" } },
  { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://x.test/a.png" } }] }] }
]

const rank = (input: string, ...words: ReadonlyArray<string>) =>
  Effect.map(tollgate({}, ["route", "rank", ...words], input), ({ code, err, out }) => ({
    code,
    err,
    answers: out.split("\n").map((line) => (line === "" ? undefined : (JSON.parse(line) as Json)))
  }))

const jsonLines = (requests: ReadonlyArray<Json>) => requests.map((request) => JSON.stringify(request)).join("\n")

const idsOf = (answer: Json = {}) => (answer["ranked"] as ReadonlyArray<Json>).map((entry) => entry["model"])

describe("tollgate route rank", () => {
  it.live("ranks every request in input order, exactly as the router in a gateway does", () =>
    Effect.gen(function* () {
      const { answers, code, err } = yield* rank(jsonLines(bodies), "--catalog", join(root, "src/catalog/catalog.json"))
      assert.deepStrictEqual([code, err, answers.length, answers.at(-1)], [0, "", bodies.length + 1, undefined])
      const router = yield* Router
      const clock = yield* Clock.Clock
      for (const [index, body] of bodies.entries()) {
        const { ranking } = Result.getOrThrow(decide(JSON.stringify(body), { router, clock }))
        const { latency_ms, ...answer } = answers[index] ?? {}
        assert.isAbove(Number(latency_ms), 0)
        // Distances are not rounded.
        assert.deepStrictEqual(answer, {
          ranked: ranking.candidates.map(({ cost, distance, model }) => ({
            model: model.id,
            distance,
            cost_usd: Number(cost) / 1e12
          })),
          demand: ranking.features.demand?.levels ?? {},
          difficulty: ranking.features.demand?.difficulty ?? 0
        })
      }
    }).pipe(
      Effect.provide(
        Router.layer.pipe(
          Layer.provide(RouteCatalog.routeCatalogLayer({ catalog: Option.none(), everyModel: true })),
          Layer.provide(NodeServices.layer)
        )
      )
    )
  )

  it.live("applies the contract's reasoning tiers", () =>
    Effect.gen(function* () {
      const { answers } = yield* rank(jsonLines([{ messages: [user("Hi")] }, ...bodies]))
      assert.notInclude(idsOf(answers[0]), "gpt-4o")
      assert.include(idsOf(answers[0]), "o3")
      assert.include(idsOf(answers[2]), "gpt-4o")
      assert.notInclude(idsOf(answers[2]), "o3")
    })
  )

  it.live("ranks the models of another catalog even if none of them can reason", () =>
    Effect.gen(function* () {
      const requests = [{ messages: [user(hard)] }, { messages: [user("Hi ".repeat(1_500))] }, bodies[3] ?? {}]
      const { answers, code } = yield* rank(jsonLines(requests), "--catalog", pair)
      assert.strictEqual(code, 0)
      assert.deepStrictEqual(idsOf(answers[0]), ["strong", "weak"])
      assert.sameMembers(idsOf(answers[1]), ["strong", "weak"])
      assert.deepStrictEqual(idsOf(answers[2]), [])
    })
  )

  it.live("writes an error for each invalid line, continues, and exits with 1", () =>
    Effect.gen(function* () {
      const good = JSON.stringify(bodies[0])
      const input = `${good}\r\nnot JSON\n\n  \n{"messages":[]}\n[]\n{"n":2}\n${good}`
      const { answers, code, err } = yield* rank(input, "--catalog", pair)
      assert.deepStrictEqual([code, err], [1, ""])
      const codes = answers.map((answer) => (answer?.["error"] as Json | undefined)?.["code"])
      const wrong = "invalid_request"
      assert.deepStrictEqual(codes, [undefined, wrong, wrong, wrong, "unsupported_parameter", undefined, undefined])
      assert.deepStrictEqual(idsOf(answers[0]), idsOf(answers[5]))
    })
  )

  it.live(
    "ranks a hundred thousand requests in order, in constant memory",
    () =>
      Effect.gen(function* () {
        const count = 100_000
        const filling = "word ".repeat(60)
        const limits = Array.from({ length: count }, (_, index) => 1 + (index % 89))
        const input = limits.map((max_tokens) => JSON.stringify({ max_tokens, messages: [user(filling)] })).join("\n")
        const words = ["route", "rank", "--catalog", pair]
        const { code, err, out } = yield* tollgate({ NODE_OPTIONS: "--max-old-space-size=48" }, words, input)
        assert.deepStrictEqual([code, err], [0, ""])
        const costs = Array.from(
          out.matchAll(/"model":"weak","distance":[^,]*,"cost_usd":([^}]*)/g),
          ([, cost]) => cost
        )
        const base = Number(costs[0]) - 1e-6
        assert.strictEqual(costs.length, count)
        assert.isTrue(costs.every((cost, index) => Math.abs(Number(cost) - base - (limits[index] ?? 0) * 1e-6) < 1e-9))
      }),
    300_000
  )

  it.live("ends quietly when the reader closes the pipe", () =>
    Effect.gen(function* () {
      const ended = yield* Effect.callback<readonly [number | null, string]>((resume) => {
        const child = spawn(process.execPath, [join(root, "src/cli.ts"), "route", "rank"], { env: {} })
        let err = ""
        child.stderr.on("data", (text) => (err += text))
        child.stdin.on("error", () => {})
        child.stdin.end(`${JSON.stringify(bodies[0])}\n`.repeat(5_000))
        child.stdout.once("data", () => child.stdout.destroy())
        child.on("close", (code) => resume(Effect.succeed([code, err])))
      })
      assert.deepStrictEqual(ended, [0, ""])
    })
  )

  it.live("reports what is wrong with a catalog, and where", () =>
    Effect.gen(function* () {
      const file = join(inject("scratch"), `route-broken-${process.pid}.json`)
      writeFileSync(file, JSON.stringify({ models: [{ id: "a", context_window: 1, max_output: 1, endpoints: [] }] }))
      for (const [path, message] of [
        [file, `${file}: models[0].endpoints[0]: Missing key`],
        [join(root, "nowhere.json"), "no such file"]
      ] as const) {
        const { code, err, out } = yield* tollgate({}, ["route", "rank", "--catalog", path], JSON.stringify(bodies[0]))
        assert.deepStrictEqual([code, out], [2, ""])
        assert.include(err, message)
      }
    })
  )
})

const explain = (words: ReadonlyArray<string>, input = "", environment = {}) =>
  tollgate(environment, ["route", "explain", ...words], input)

describe("tollgate route explain", () => {
  it.live("explains a request body, and the text of a user message", () =>
    Effect.gen(function* () {
      const body = JSON.stringify({ messages: [user(hard)] })
      const fromText = yield* explain(["--catalog", pair, "--json", "--text", hard])
      const fromBody = yield* explain(["--catalog", pair, "--json"], body)
      const [{ latency_ms: _one, ...a }, { latency_ms: _two, ...b }] = [
        JSON.parse(fromText.out),
        JSON.parse(fromBody.out)
      ]
      assert.deepStrictEqual(a, b)
      assert.deepStrictEqual([fromText.code, a.choice, a.needs.tier, a.tier_yields], [0, "strong", "high", true])
      assert.isAbove(a.candidates[1].lacks.math, 0)
    })
  )

  it.live("ranks the models that a gateway would serve and that a key may use", () =>
    Effect.gen(function* () {
      const text = ["--json", "--text", "Hi"]
      const ids = (out: string) => JSON.parse(out).candidates.map((entry: Json) => entry["model"])
      const served = ids((yield* explain(text, "", { ANTHROPIC_API_KEY: "key" })).out) as ReadonlyArray<string>
      assert.isNotEmpty(served)
      assert.isTrue(served.every((id) => id.startsWith("claude")))
      const every = ids((yield* explain(["--every-model", ...text], "", { ANTHROPIC_API_KEY: "key" })).out)
      assert.isAbove(every.length, served.length)
      const allowed = yield* explain(["--model-allow", "o3, gpt-4o", ...text])
      assert.deepStrictEqual(ids(allowed.out), ["o3"])
      const reasons = JSON.parse(allowed.out).refused.map((entry: Json) => entry["because"])
      assert.sameMembers([...new Set(reasons)], ["not_allowed", "reasoning_tier"])
    })
  )

  it.live("rejects what the gateway rejects", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* explain([], '{"messages":[]}')
      assert.deepStrictEqual([code, out], [2, ""])
      assert.include(err, "invalid_request: messages: ")
    })
  )
})
