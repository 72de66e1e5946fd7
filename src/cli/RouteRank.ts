/**
 * `tollgate route rank`: requests in, rankings out, one JSON line for each. Without a server, a database or a key, so
 * that a router can be measured, or compared over catalogs, on a file of requests.
 */
import { Clock, Data, Effect, Layer, type PlatformError, Result, Stdio, Stream } from "effect"
import { Command } from "effect/cli"

import { toUsdNumber } from "../domain/Money.ts"
import { Router } from "../routing/Router.ts"
import * as RouteCatalog from "./RouteCatalog.ts"
import { type Decision, decide, type RouteDecider } from "./RouteDecision.ts"
import { type Line, lines } from "./RouteLines.ts"

/** Some lines were no valid requests. Their errors stand among the answers. */
export class LinesRefused extends Data.TaggedError("LinesRefused") {}

export const rankCommand = Command.make(
  "rank",
  { catalog: RouteCatalog.catalog },
  Effect.fn(function* () {
    const stdio = yield* Stdio.Stdio
    const judge: RouteDecider = { router: yield* Router, clock: yield* Clock.Clock }
    let refused = 0
    const answer = (line: Line): string => {
      const decision = Result.flatMap(line, (body) => decide(body, judge))
      if (Result.isSuccess(decision)) return answerOf(decision.success)
      refused++
      return `${JSON.stringify({ error: decision.failure.error })}\n`
    }
    yield* lines(Stream.decodeText(stdio.stdin)).pipe(
      Stream.mapArray((chunk) => [chunk.map(answer).join("")]),
      Stream.run(stdio.stdout()),
      Effect.catchIf(readerHasGone, () => Effect.void)
    )
    if (refused > 0) return yield* new LinesRefused()
  })
).pipe(
  Command.withDescription(
    "Rank the models for chat requests on standard input, one JSON body per line, and print one line for each, in " +
      "order. A line that is no valid request gets an error in its place; blank lines are skipped. Every model of " +
      "the catalog counts as served. Exits with 0, with 1 when there were such lines, 2 when it could not rank."
  ),
  Command.provide(({ catalog }) =>
    Router.layer.pipe(Layer.provide(RouteCatalog.routeCatalogLayer({ catalog, everyModel: true })))
  )
)

/** Distances as they are: bands, and not rounding, decide what is equally good. */
const answerOf = ({ latencyMillis, ranking }: Decision): string =>
  `${JSON.stringify({
    ranked: ranking.candidates.map(({ cost, distance, model }) => ({
      model: model.id,
      distance,
      cost_usd: toUsdNumber(cost)
    })),
    demand: ranking.features.demand?.levels ?? {},
    difficulty: ranking.features.demand?.difficulty ?? 0,
    latency_ms: latencyMillis
  })}\n`

/** Whoever reads the answers may stop when they have enough. */
const readerHasGone = ({ reason }: PlatformError.PlatformError): boolean =>
  reason._tag === "Unknown" && errorCode(reason.cause) === "EPIPE"

const errorCode = (cause: unknown): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
