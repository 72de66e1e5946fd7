/**
 * `tollgate route rank`: reads chat requests and writes their rankings, one JSON line each. It needs no server,
 * database or key, so the router can be measured, or compared across catalogs, on a file of requests.
 */
import { Clock, Data, Effect, Layer, type PlatformError, Result, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"

import { toUsdNumber } from "../domain/Money.ts"
import { Router } from "../routing/Router.ts"
import { type JsonLine, jsonLines } from "./JsonLines.ts"
import * as RouteCatalog from "./RouteCatalog.ts"
import { type Decision, decide, type RouteDecider } from "./RouteDecision.ts"

/** Some lines were not valid requests. Each of them got an error in the place of its ranking. */
export class InvalidLines extends Data.TaggedError("InvalidLines") {}

export const rankCommand = Command.make(
  "rank",
  {
    catalog: RouteCatalog.catalog,
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print JSON, which it does in any case: one line for each request."),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* () {
    const stdio = yield* Stdio.Stdio
    const decider: RouteDecider = { router: yield* Router, clock: yield* Clock.Clock }
    let invalid = 0
    const outputLineFor = (line: JsonLine): string => {
      const decision = Result.flatMap(line, (body) => decide(body, decider))
      if (Result.isSuccess(decision)) return rankingLine(decision.success)
      invalid++
      return `${JSON.stringify({ error: decision.failure.error })}\n`
    }
    yield* jsonLines(Stream.decodeText(stdio.stdin)).pipe(
      Stream.mapArray((chunk) => [chunk.map(outputLineFor).join("")]),
      Stream.run(stdio.stdout()),
      Effect.catchIf(isBrokenPipe, () => Effect.void)
    )
    if (invalid > 0) return yield* new InvalidLines()
  })
).pipe(
  Command.withShortDescription("Rank the models for the chat requests on standard input."),
  Command.withDescription(
    "Rank the models for the chat requests on standard input, one JSON body per line, and print one line for each, " +
      "in the same order. A line that is not a valid request gets an error in its place; blank lines are skipped. " +
      "Every model of the catalog counts as served. The exit code is 0, 1 if any line was invalid, or 2 if ranking " +
      "failed."
  ),
  Command.provide(({ catalog }) =>
    Router.layer.pipe(Layer.provide(RouteCatalog.routeCatalogLayer({ catalog, everyModel: true })))
  )
)

/** Distances are printed unrounded, so that a program can compare them. */
const rankingLine = ({ latencyMillis, ranking }: Decision): string =>
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

/** The program that reads the output may stop early, for example `head`. That is not a failure. */
const isBrokenPipe = ({ reason }: PlatformError.PlatformError): boolean =>
  reason._tag === "Unknown" && errorCode(reason.cause) === "EPIPE"

const errorCode = (cause: unknown): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
