/**
 * Which models may turn an upload into text. The contract's own names lead to the default model, and behind it to the
 * other transcription models, which are tried when it fails; any other name leads to that model alone.
 */
import { Array as Arr, Context, Effect, Layer } from "effect"

import * as Errors from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { CatalogError } from "../catalog/CatalogFile.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { namedModel, quoted, targetsOf } from "./Targets.ts"

export interface TranscriptionTargets {
  /** What the client wrote; `undefined` when it wrote nothing. */
  readonly requested: string | undefined
  /** In order of preference; the first is of the model that the request resolves to. */
  readonly targets: readonly [Target, ...Array<Target>]
}

export interface TranscriptionTargetOptions {
  readonly serviceName: string
  /** Catalog id of the default model. */
  readonly transcriptionModel: string
}

/** Beside the service's own name for it, what the contract takes to mean the default model. */
const aliases = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]

export class ChooseTranscriptionTargets extends Context.Service<
  ChooseTranscriptionTargets,
  {
    /** What the model field of a request leads to. */
    readonly resolve: (name: string | undefined) => Effect.Effect<TranscriptionTargets, Errors.InvalidModel>
  }
>()("tollgate/gateway/ChooseTranscribers") {
  static readonly layer = (options: TranscriptionTargetOptions) =>
    Layer.effect(ChooseTranscriptionTargets, make(options))
}

const make = Effect.fnUntraced(function* ({ serviceName, transcriptionModel }: TranscriptionTargetOptions) {
  const catalog = yield* Catalog
  const chosen = catalog.lookup(transcriptionModel)
  if (chosen._tag === "Unknown" || (chosen._tag === "Served" && !chosen.model.modalities.audio)) {
    return yield* new CatalogError({
      path: "TRANSCRIPTION_MODEL",
      message: `TRANSCRIPTION_MODEL: ${quoted(transcriptionModel)} is not a catalog model with audio input`
    })
  }
  const preferred = chosen._tag === "Served" ? [chosen.model] : []
  const others = catalog.models.filter(({ id, kind }) => kind === "transcription" && id !== transcriptionModel)
  const standard = [...preferred, ...others]
  const isStandard = new Set([`${serviceName}-auto`, ...aliases])

  const byDefault = (requested: string | undefined) =>
    Arr.isArrayNonEmpty(standard)
      ? Effect.succeed<TranscriptionTargets>({ requested, targets: targetsOf(standard) })
      : Effect.fail(Errors.InvalidModel.of("model: no provider of a transcription model is switched on"))

  const direct = Effect.fnUntraced(function* (requested: string) {
    const model = yield* namedModel(catalog, requested)
    if (!model.modalities.audio) return yield* Errors.InvalidModel.of(`model: ${requested} does not take audio input`)
    return { requested, targets: targetsOf([model]) } satisfies TranscriptionTargets
  })

  return ChooseTranscriptionTargets.of({
    resolve: (name) => (name === undefined || isStandard.has(name) ? byDefault(name) : direct(name))
  })
})
