/**
 * Which models may turn an upload into text. The contract's own names lead to the default model, and behind it to the
 * other transcription models, which are tried when it fails; any other name leads to that model alone.
 */
import { Array as Arr, Context, Effect, Layer } from "effect"

import * as Errors from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { CatalogError } from "../catalog/CatalogFile.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { namedModel, shown, targetsOf } from "./Targets.ts"

export interface Transcribers {
  /** What the client wrote; `undefined` when it wrote nothing. */
  readonly requested: string | undefined
  /** In order of preference; the first is of the model that the request resolves to. */
  readonly targets: readonly [Target, ...Array<Target>]
}

export interface TranscriberOptions {
  readonly serviceName: string
  /** Catalog id of the default model. */
  readonly transcriptionModel: string
}

/** Beside the service's own name for it, what the contract takes to mean the default model. */
const aliases = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]

export class ChooseTranscribers extends Context.Service<
  ChooseTranscribers,
  {
    /** What the model field of a request leads to. */
    readonly resolve: (name: string | undefined) => Effect.Effect<Transcribers, Errors.InvalidModel>
  }
>()("tollgate/gateway/ChooseTranscribers") {
  static readonly layer = (options: TranscriberOptions) => Layer.effect(ChooseTranscribers, make(options))
}

const make = Effect.fnUntraced(function* ({ serviceName, transcriptionModel }: TranscriberOptions) {
  const catalog = yield* Catalog
  const chosen = catalog.lookup(transcriptionModel)
  if (chosen._tag === "Unknown" || (chosen._tag === "Served" && !chosen.model.modalities.audio)) {
    return yield* new CatalogError({
      path: "TRANSCRIPTION_MODEL",
      message: `TRANSCRIPTION_MODEL: ${shown(transcriptionModel)} is not a catalog model with audio input`
    })
  }
  const preferred = chosen._tag === "Served" ? [chosen.model] : []
  const others = catalog.models.filter(({ id, kind }) => kind === "transcription" && id !== transcriptionModel)
  const standard = [...preferred, ...others]
  const isStandard = new Set([`${serviceName}-auto`, ...aliases])

  const byDefault = (requested: string | undefined) =>
    Arr.isArrayNonEmpty(standard)
      ? Effect.succeed<Transcribers>({ requested, targets: targetsOf(standard) })
      : Effect.fail(Errors.InvalidModel.of("model: no provider of a transcription model is switched on"))

  const direct = Effect.fnUntraced(function* (requested: string) {
    const model = yield* namedModel(catalog, requested)
    if (!model.modalities.audio) return yield* Errors.InvalidModel.of(`model: ${requested} does not take audio input`)
    return { requested, targets: targetsOf([model]) } satisfies Transcribers
  })

  return ChooseTranscribers.of({
    resolve: (name) => (name === undefined || isStandard.has(name) ? byDefault(name) : direct(name))
  })
})
