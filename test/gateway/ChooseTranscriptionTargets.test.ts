import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"

import { Catalog } from "../../src/catalog/Catalog.ts"
import type { Model } from "../../src/catalog/Model.ts"
import { ChooseTranscriptionTargets } from "../../src/gateway/ChooseTranscriptionTargets.ts"
import { targetOf } from "./calls.ts"

const chat = (id: string, audio: boolean): Model => ({ ...targetOf(id).model, modalities: { image: false, audio } })
const transcriber = (id: string): Model => ({ ...chat(id, true), kind: "transcription" })

const served = [transcriber("cheap"), transcriber("gpt-4o-transcribe"), chat("hears", true), chat("deaf", false)]

/** The models that a name resolves to, or the code of the error. */
const resolve = (name: string | undefined, options: { models?: ReadonlyArray<Model>; defaultModel?: string } = {}) => {
  const models = options.models ?? served
  const catalog = Layer.succeed(Catalog, {
    version: "v1",
    models,
    known: [],
    data: { providers: new Map(), models: new Map() },
    account: () => undefined,
    lookup: (id) => {
      const model = models.find((known) => known.id === id)
      if (model !== undefined) return { _tag: "Served", model }
      return id.startsWith("gpt-") ? { _tag: "Unserved", variables: ["OPENAI_API_KEY"] } : { _tag: "Unknown" }
    }
  })
  const transcriptionModel = options.defaultModel ?? "gpt-4o-transcribe"
  const layer = ChooseTranscriptionTargets.layer({ serviceName: "acme", transcriptionModel }).pipe(
    Layer.provide(catalog)
  )
  return Effect.flatMap(ChooseTranscriptionTargets, (targets) => targets.resolve(name)).pipe(
    Effect.map(({ targets }) => targets.map(({ model }) => String(model.id)).join(" ")),
    Effect.provide(layer),
    Effect.result,
    Effect.map(Result.merge),
    Effect.map((found) => (typeof found === "string" ? found : "error" in found ? found.error.code : found.message))
  )
}

const defaultModels = "gpt-4o-transcribe cheap"

describe("ChooseTranscriptionTargets", () => {
  it.effect.each<[string, string | undefined, string]>([
    ["nothing", undefined, defaultModels],
    ["the service's own name", "acme-auto", defaultModels],
    ["whisper-1", "whisper-1", defaultModels],
    ["gpt-4o-transcribe", "gpt-4o-transcribe", defaultModels],
    ["gpt-4o-mini-transcribe", "gpt-4o-mini-transcribe", defaultModels],
    ["another transcription model", "cheap", "cheap"],
    ["a chat model with audio input", "hears", "hears"],
    ["a chat model without audio input", "deaf", "invalid_model"],
    ["another service's name", "svc-auto", "invalid_model"],
    ["an unknown name", "unknown", "invalid_model"],
    ["an empty name", "", "invalid_model"],
    ["a model whose provider is off", "gpt-audio", "invalid_model"]
  ])("resolves %s to the models that the contract says", ([, name, expected]) =>
    Effect.map(resolve(name), (found) => assert.strictEqual(found, expected))
  )

  it.effect("falls back to the other transcription models while no provider of the default is switched on", () =>
    Effect.map(resolve("whisper-1", { models: [transcriber("b"), transcriber("a")] }), (found) =>
      assert.strictEqual(found, "b a")
    )
  )

  it.effect("refuses the request when no transcription model is served at all", () =>
    Effect.map(resolve(undefined, { models: [chat("hears", true)] }), (found) =>
      assert.strictEqual(found, "invalid_model")
    )
  )

  it.effect("allows a chat model with audio input as the default model", () =>
    Effect.map(resolve("whisper-1", { defaultModel: "hears" }), (found) =>
      assert.strictEqual(found, "hears cheap gpt-4o-transcribe")
    )
  )

  it.effect.each(["deaf", "unknown"])("fails the start with a default model of %s, and names the variable", (name) =>
    Effect.map(resolve(undefined, { defaultModel: name }), (found) =>
      assert.strictEqual(found, `TRANSCRIPTION_MODEL: "${name}" is not a catalog model with audio input`)
    )
  )
})
