import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"

import { Catalog } from "../../src/catalog/Catalog.ts"
import type { Model } from "../../src/catalog/Model.ts"
import { type ModelId, modelId } from "../../src/domain/Ids.ts"
import { zero } from "../../src/domain/Money.ts"
import type { ChatInput } from "../../src/gateway/ChatCall.ts"
import { ChooseTargets } from "../../src/gateway/ChooseTargets.ts"
import type { Exclusion } from "../../src/routing/Eligibility.ts"
import { Router } from "../../src/routing/Router.ts"
import { requirementsOf } from "../../src/routing/RoutingRequest.ts"
import { SessionPins } from "../../src/routing/SessionPins.ts"
import { callOf, request, targetOf } from "./calls.ts"

interface Setting {
  /** In the order of the router's ranking. */
  readonly models: ReadonlyArray<Model>
  /** Models that cannot serve the request, and why. */
  readonly excluded?: { readonly [model: string]: Exclusion }
  /** The model that the session is pinned to. */
  readonly pin?: string
  /** True when no answer has confirmed the pin yet. */
  readonly claimed?: boolean
  /** The model that is pinned after an attempt to pin; by default the one that was attempted. */
  readonly winner?: string
}

/** The models of the chosen targets, the models written to the session pin, and whether the pin was kept. */
const choose = (setting: Setting, input: Partial<ChatInput> = {}, allowed?: ReadonlyArray<string>) => {
  const writes: Array<string> = []
  const write = (model: ModelId) =>
    Effect.sync(() => (writes.push(model), setting.winner === undefined ? model : modelId(setting.winner)))
  const because = (model: Model) => setting.excluded?.[model.id]
  const fakes = Layer.mergeAll(
    Layer.succeed(Catalog, {
      version: "v1",
      models: setting.models,
      known: [],
      data: { providers: new Map(), models: new Map() },
      account: () => undefined,
      lookup: (id) => {
        const model = setting.models.find((known) => known.id === id)
        return model === undefined ? { _tag: "Unknown" } : { _tag: "Served", model }
      }
    }),
    Layer.succeed(Router, {
      exclusionOf: because,
      rankFeatures: () => assert.fail("a request is ranked by its conversation"),
      rank: () => ({
        candidates: setting.models
          .filter((model) => because(model) === undefined)
          .map((model) => ({ model, deviations: 0, distance: 0, band: 0, cost: zero })),
        excluded: setting.models.flatMap((model) => {
          const why = because(model)
          return why === undefined ? [] : [{ model: model.id, reason: why }]
        }),
        features: { needs: requirementsOf({ request, promptTokens: 0, allowed: undefined }), demand: undefined }
      })
    }),
    Layer.succeed(SessionPins, {
      use: () =>
        Effect.succeed(
          Option.map(Option.fromUndefinedOr(setting.pin), (pin) => ({
            model: modelId(pin),
            confirmed: setting.claimed !== true
          }))
        ),
      confirm: (_session, model) => write(model),
      pin: (_session, model) => write(model),
      move: (_session, { to }) => write(to)
    })
  )
  return Effect.gen(function* () {
    const targets = yield* ChooseTargets
    const call = callOf({ request: { ...request, sessionId: "s" }, ...input }, allowed)
    const choice = yield* targets.choose(call, { ...request, ...call.input.request })
    return { names: choice.targets.map(({ model }) => String(model.id)), pinned: choice.routed?.pinned, writes, choice }
  }).pipe(Effect.provide(ChooseTargets.layer.pipe(Layer.provide(fakes))))
}

const named = (...names: ReadonlyArray<string>): ReadonlyArray<Model> => names.map((name) => targetOf(name).model)

describe("ChooseTargets", () => {
  it.effect("follows the router and pins its first choice", () =>
    Effect.gen(function* () {
      const { names, pinned, writes } = yield* choose({ models: named("a", "b", "c") })
      assert.deepStrictEqual({ names, pinned, writes }, { names: ["a", "b", "c"], pinned: false, writes: ["a"] })
    })
  )

  it.effect("puts the pinned model first and the ranking after it, to fail over to", () =>
    Effect.gen(function* () {
      const { names, pinned, writes } = yield* choose({ models: named("a", "b", "c"), pin: "c" })
      assert.deepStrictEqual({ names, pinned, writes }, { names: ["c", "a", "b"], pinned: true, writes: [] })
    })
  )

  it.effect("moves a pin whose model cannot serve the request, or is gone", () =>
    Effect.gen(function* () {
      for (const setting of [{ pin: "c", excluded: { c: "image_input" as const } }, { pin: "gone" }]) {
        const { names, pinned, writes } = yield* choose({ models: named("a", "b", "c"), ...setting })
        assert.strictEqual(names[0], "a")
        assert.deepStrictEqual({ pinned, writes }, { pinned: false, writes: ["a"] })
      }
    })
  )

  it.effect("follows the request that pinned the session first, if that model can serve this one too", () =>
    Effect.gen(function* () {
      const first = yield* choose({ models: named("a", "b", "c"), winner: "b" })
      assert.deepStrictEqual(first.names, ["b", "a", "c"])
      const unable = yield* choose({ models: named("a", "b", "c"), winner: "b", excluded: { b: "tools" } })
      assert.deepStrictEqual(unable.names, ["a", "c"])
    })
  )

  it.effect("pins what answered, until an answer has done so", () =>
    Effect.gen(function* () {
      const models = named("a", "b", "c")
      const answeredBy = (setting: Partial<Setting>, model: string) =>
        Effect.flatMap(choose({ models, ...setting }), ({ choice, writes }) =>
          Effect.as(choice.confirmPin(modelId(model)), writes)
        )
      assert.deepStrictEqual(yield* answeredBy({}, "b"), ["a", "b"])
      assert.deepStrictEqual(yield* answeredBy({ pin: "c" }, "b"), [])
      assert.deepStrictEqual(yield* answeredBy({ pin: "c", claimed: true }, "b"), ["b"])
      assert.deepStrictEqual(yield* answeredBy({ pin: "gone" }, "b"), ["a", "b"])
    })
  )

  it.effect("offers at most six models", () =>
    Effect.gen(function* () {
      const { names } = yield* choose({ models: named(..."abcdefghij"), pin: "j" })
      assert.deepStrictEqual(names, ["j", "a", "b", "c", "d", "e"])
    })
  )

  it.effect("keeps a direct call on its model and away from the pins", () =>
    Effect.gen(function* () {
      const setting = { models: named("a", "b"), pin: "a" }
      const direct = yield* choose(setting, { model: "b" })
      assert.deepStrictEqual(direct.names, ["b"])
      assert.isUndefined(direct.choice.routed)
      assert.deepStrictEqual(direct.writes, [])
      assert.match(direct.choice.affinity ?? "", /^[0-9a-f]{40}$/)
    })
  )

  it.effect("refuses a direct call with the error code of its cause", () =>
    Effect.gen(function* () {
      const unknown = yield* Effect.flip(choose({ models: named("a") }, { model: "b" }))
      assert.strictEqual(unknown.error.code, "invalid_model")
      const notAllowed = yield* Effect.flip(choose({ models: named("a", "b") }, { model: "b" }, ["a"]))
      assert.strictEqual(notAllowed.error.code, "model_not_allowed")
      const unable = yield* Effect.flip(choose({ models: named("a"), excluded: { a: "tools" } }, { model: "a" }))
      assert.strictEqual(unable.error.code, "invalid_request")
    })
  )

  it.effect("distinguishes a key that allows no model from a request that no model can serve", () =>
    Effect.gen(function* () {
      const models = named("a", "b")
      const notAllowed = yield* Effect.flip(choose({ models, excluded: { a: "not_allowed", b: "not_allowed" } }))
      assert.strictEqual(notAllowed.error.code, "model_not_allowed")
      const unable = yield* Effect.flip(choose({ models, excluded: { a: "not_allowed", b: "audio_input" } }))
      assert.strictEqual(unable.error.code, "invalid_request")
      assert.match(unable.error.message, /audio/)
      const nothing = yield* Effect.flip(choose({ models: [] }))
      assert.strictEqual(nothing.error.code, "invalid_request")
    })
  )
})
