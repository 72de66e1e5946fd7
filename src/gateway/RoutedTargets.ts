/**
 * The targets of a request that leaves the choice of its model to the gateway: those of its session's pinned model, and
 * of the router's ranking or of the models that it names to fall back to.
 */
import { Clock, Effect, Option, Result } from "effect"

import type * as Errors from "../api/Errors.ts"
import type { Model } from "../catalog/Model.ts"
import type { ModelId } from "../domain/Ids.ts"
import type { Ranking } from "../routing/Ranking.ts"
import { Router } from "../routing/Router.ts"
import type { RoutingRequest } from "../routing/RoutingRequest.ts"
import { type Session, SessionPins } from "../routing/SessionPins.ts"
import type { ChatCall } from "./ChatCall.ts"
import { fallbackModels } from "./DirectTargets.ts"
import { noCandidate } from "./NoCandidate.ts"
import { followingOf, type LeftOut, leftOutBy, type Offered, pinnedModel } from "./OfferedModels.ts"
import { servingTargets, type Targets } from "./ServingTargets.ts"

/** How a routed request came to its targets. */
export interface Routed {
  /** Duration of the whole decision, with the reads and writes of the session pin. */
  readonly latencyMillis: number
  /** True when the session's pinned model comes first. */
  readonly pinned: boolean
  readonly ranking: Ranking
  /** The models that the choices of the request left out. Absent where they left out none. */
  readonly leftOut?: ReadonlyArray<LeftOut>
}

/** Further candidates are left out, because the attempt budget would be used up before their turn. */
const maxModels = 6

/** Yields the function that chooses them: at once, unless there is a session. */
export const routedTargetChooser = Effect.gen(function* () {
  const router = yield* Router
  const pins = yield* SessionPins
  const clock = yield* Clock.Clock

  const millisSince = (nanos: bigint): number => Number(clock.currentTimeNanosUnsafe() - nanos) / 1e6

  const sessionTargets = Effect.fnUntraced(function* (session: Session, asked: Asked) {
    const startedAt = clock.currentTimeNanosUnsafe()
    const { offered, routing } = asked
    const pin = Option.getOrUndefined(yield* pins.use(session))
    const pinned = pin && pinnedModel(offered, pin.model, routing)
    const ranking = router.rank(routing)
    const first = pinned ?? firstOf(ranking, asked)
    if (first === undefined) return yield* withoutCandidate(ranking, offered)
    let chosen = first
    if (pinned === undefined) {
      // A concurrent request of the session may have pinned another model first; then that pin holds.
      const winner = pin
        ? yield* pins.move(session, { from: pin.model, to: first.id })
        : yield* pins.pin(session, first.id)
      chosen = (winner === first.id ? first : pinnedModel(offered, winner, routing)) ?? first
    }
    const routed = routedBy(ranking, offered, { latencyMillis: millisSince(startedAt), pinned: pinned !== undefined })
    return {
      targets: yield* Effect.fromResult(targetsAfter(chosen, ranking, asked)),
      confirmPin: (answered: ModelId) =>
        pinned !== undefined && pin?.confirmed === true ? Effect.void : pins.confirm(session, answered),
      routed
    }
  })

  return (
    call: ChatCall,
    offered: Offered,
    routing: RoutingRequest
  ): Effect.Effect<RoutedChoice, NoTarget | Errors.InvalidModel> => {
    const startedAt = clock.currentTimeNanosUnsafe()
    const { choices } = call.input
    const named = choices?.models && fallbackModels(choices.models, offered, routing)
    if (named !== undefined && Result.isFailure(named)) return Effect.fail(named.failure)
    const asked = { offered, routing, fallbacks: named?.success }
    const { sessionId } = routing.request
    if (sessionId !== undefined)
      return sessionTargets({ organization: call.caller.organization, session: sessionId }, asked)
    const ranking = router.rank(routing)
    const first = firstOf(ranking, asked)
    if (first === undefined) return Effect.fail(withoutCandidate(ranking, offered))
    const routed = routedBy(ranking, offered, { latencyMillis: millisSince(startedAt), pinned: false })
    return Effect.fromResult(
      Result.map(targetsAfter(first, ranking, asked), (targets) => ({
        targets,
        confirmPin: () => Effect.void,
        routed
      }))
    )
  }
})

interface RoutedChoice {
  readonly targets: Targets
  readonly routed: Routed
  readonly confirmPin: (answered: ModelId) => Effect.Effect<void>
}

type NoTarget = Errors.ModelNotAllowed | Errors.InvalidRequest | Errors.UnsupportedParameter

/** A routed request. */
interface Asked {
  readonly offered: Offered
  readonly routing: RoutingRequest
  /** The models that it names to fall back to, as far as they can serve it. */
  readonly fallbacks: ReadonlyArray<Model> | undefined
}

const firstOf = ({ candidates }: Ranking, { fallbacks }: Asked): Model | undefined =>
  candidates[0]?.model ?? fallbacks?.[0]

const withoutCandidate = (ranking: Ranking, offered: Offered) =>
  noCandidate(ranking, offered, leftOutBy(offered)?.flatMap(({ because }) => because) ?? [])

const routedBy = (ranking: Ranking, offered: Offered, facts: Pick<Routed, "latencyMillis" | "pinned">): Routed => {
  const leftOut = leftOutBy(offered)
  return { ...facts, ranking, ...(leftOut && { leftOut }) }
}

/** The targets of the model that was chosen, and of those that follow it. */
const targetsAfter = (chosen: Model, ranking: Ranking, { fallbacks, offered }: Asked) => {
  const following = fallbacks ?? followingOf(offered, ranking)
  const others = following.filter((model) => model !== chosen)
  const models = [chosen, ...others.slice(0, maxModels - 1)] as const
  const targets = servingTargets(models, ranking.features.needs, offered.narrowing)
  return offered.strict === undefined ? Result.succeed(targets) : offered.strict.within(targets)
}
