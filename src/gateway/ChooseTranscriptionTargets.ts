/**
 * Chooses which models may transcribe an upload. The names of the contract, such as `whisper-1`, mean the default
 * model, followed by the other transcription models, which are tried when it fails. Any other name means that model
 * alone.
 */
import { Array as Arr, Context, Effect, Layer } from "effect"

import * as Errors from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { CatalogError } from "../catalog/CatalogFile.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { namedModel, quoted, targetsOf } from "./NamedModel.ts"

export interface TranscriptionTargets {
  /** The model that the client named; `undefined` when the form has no `model`. */
  readonly requested: string | undefined
  /** In order of preference. The first belongs to the model that the request resolves to. */
  readonly targets: readonly [Target, ...Array<Target>]
}

export interface TranscriptionTargetOptions {
  readonly serviceName: string
  /** Catalog id of the default model. */
  readonly transcriptionModel: string
}

/** Names that mean the default model by the contract, beside `<service>-auto`. */
const defaultModelNames = ["whisper-1", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"]

export class ChooseTranscriptionTargets extends Context.Service<
  ChooseTranscriptionTargets,
  {
    /** The targets for the `model` field of a form, which may be absent. */
    readonly resolve: (name: string | undefined) => Effect.Effect<TranscriptionTargets, Errors.InvalidModel>
  }
>()("tollgate/gateway/ChooseTranscriptionTargets") {
  static readonly layer = (options: TranscriptionTargetOptions) =>
    Layer.effect(ChooseTranscriptionTargets, make(options))
}

const make = Effect.fnUntraced(function* ({ serviceName, transcriptionModel }: TranscriptionTargetOptions) {
  const catalog = yield* Catalog
  const configured = catalog.lookup(transcriptionModel)
  if (configured._tag === "Unknown" || (configured._tag === "Served" && !configured.model.modalities.audio)) {
    return yield* new CatalogError({
      path: "TRANSCRIPTION_MODEL",
      message: `TRANSCRIPTION_MODEL: ${quoted(transcriptionModel)} is not a catalog model with audio input`
    })
  }
  const preferred = configured._tag === "Served" ? [configured.model] : []
  const others = catalog.models.filter(({ id, kind }) => kind === "transcription" && id !== transcriptionModel)
  const defaults = [...preferred, ...others]
  const namesOfDefault = new Set([`${serviceName}-auto`, ...defaultModelNames])

  const defaultTargets = (requested: string | undefined) =>
    Arr.isArrayNonEmpty(defaults)
      ? Effect.succeed<TranscriptionTargets>({ requested, targets: targetsOf(defaults) })
      : Effect.fail(Errors.InvalidModel.of("model: no provider of a transcription model is switched on"))

  const namedTargets = Effect.fnUntraced(function* (requested: string) {
    const model = yield* namedModel(catalog, requested)
    // `openai/whisper-1` means what `whisper-1` means.
    if (requested !== model.id && namesOfDefault.has(model.id)) return yield* defaultTargets(requested)
    if (!model.modalities.audio) return yield* Errors.InvalidModel.of(`model: ${requested} does not take audio input`)
    return { requested, targets: targetsOf([model]) } satisfies TranscriptionTargets
  })

  return ChooseTranscriptionTargets.of({
    resolve: (name) => (name === undefined || namesOfDefault.has(name) ? defaultTargets(name) : namedTargets(name))
  })
})
