/**
 * Requests that insist on their parameters: a target that would get one of them changed, or not at all, is no target
 * for them. What becomes of parameters is known before a provider is called, so such a refusal costs nothing.
 */
import { Array as Arr, Result } from "effect"

import { UnsupportedParameter } from "../api/Errors.ts"
import type { Model } from "../catalog/Model.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { Adjustment } from "../providers/protocols/Adjustments.ts"
import type { ChatInput } from "./ChatCall.ts"

type Targets = readonly [Target, ...Array<Target>]

/** Decides for one request. */
export interface StrictRequest {
  /** True for a model at none of whose endpoints the request is sent as it is. */
  readonly refuses: (model: Model) => boolean
  /** The targets that get the request as it is. Fails if there is none. */
  readonly within: (targets: Targets) => Result.Result<Targets, UnsupportedParameter>
  /** Names each parameter that these models would not get, and what would become of it. */
  readonly refusal: (models: ReadonlyArray<Model>) => UnsupportedParameter
}

/** `undefined` for a request that insists on nothing. `adjustmentsAt`: what a target would not get as it was asked. */
export const strictRequest = (
  input: ChatInput,
  adjustmentsAt: (target: Target) => ReadonlyArray<Adjustment>
): StrictRequest | undefined => {
  if (input.strict !== true) return undefined
  const changesAt = (target: Target) => adjustmentsAt(target).filter(isAskedFor(input))
  const refusalAt = (targets: ReadonlyArray<Target>) => UnsupportedParameter.of(refusalText(targets, changesAt))
  return {
    refuses: (model) => model.endpoints.every((endpoint) => changesAt({ model, endpoint }).length > 0),
    within: (targets) => {
      const unchanged = targets.filter((target) => changesAt(target).length === 0)
      return Arr.isArrayNonEmpty(unchanged) ? Result.succeed(unchanged) : Result.fail(refusalAt(targets))
    },
    refusal: (models) => refusalAt(models.map((model) => ({ model, endpoint: model.endpoints[0] })))
  }
}

/** The effort that a routed request gets without asking for it is no parameter of the client. */
const isAskedFor = ({ reasoning }: ChatInput): ((adjustment: Adjustment) => boolean) => {
  const asksToReason = Object.keys(reasoning).length > 0
  return (adjustment) => asksToReason || !adjustment.startsWith("reasoning.")
}

/** The names of what was left out for the model that answered, and not for all models. */
export const droppedOf = (input: ChatInput, adjustments: ReadonlyArray<Adjustment>): ReadonlyArray<string> =>
  adjustments.length === 0
    ? adjustments
    : adjustments
        .filter((one) => one.endsWith(leftOut) && input.ignored?.includes(one) !== true)
        .filter(isAskedFor(input))
        .map((one) => one.slice(0, -leftOut.length))

const leftOut = "=omitted"

/** More than these would only repeat each other. */
const mostGroups = 3
const mostModels = 3

const refusalText = (
  targets: ReadonlyArray<Target>,
  changesAt: (target: Target) => ReadonlyArray<Adjustment>
): string => {
  const groups = new Map<string, Set<string>>()
  for (const target of targets) {
    const changes = changesAt(target).map(described).join(", ")
    groups.set(changes, (groups.get(changes) ?? new Set()).add(target.model.id))
  }
  const lines = [...groups]
    .slice(0, mostGroups)
    .map(([changes, models]) => `${listed([...models])} would get the request with ${changes}`)
  return `strict allows no change of a parameter. ${lines.join("; ")}`
}

const listed = (models: ReadonlyArray<string>): string =>
  models.length > mostModels
    ? `${models.slice(0, mostModels).join(", ")} and ${models.length - mostModels} more`
    : models.join(" and ")

/** `top_p=omitted` in words. */
const described = (adjustment: Adjustment): string => {
  const at = adjustment.indexOf("=")
  const [name, sent] = [adjustment.slice(0, at), adjustment.slice(at + 1)]
  return sent === "omitted" ? `${name} left out` : `${name} changed to ${sent}`
}
