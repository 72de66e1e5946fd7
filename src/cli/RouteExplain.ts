/**
 * `tollgate route explain`: one decision of the router for a person to follow. Demand, requirements, every candidate
 * with what it lacks, and every other model with the reason why it is none.
 */
import { Clock, Console, Data, Effect, Layer, Option, Result, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"

import { modelId } from "../domain/Ids.ts"
import { Router } from "../routing/Router.ts"
import * as RouteCatalog from "./RouteCatalog.ts"
import { decide } from "./RouteDecision.ts"
import { explanationOf, explanationJson, explanationText } from "./RouteExplanation.ts"
import { lengthMax } from "./RouteLines.ts"

export class NoRequest extends Data.TaggedError("NoRequest")<{ readonly message: string }> {}

const text = Flag.String("text").pipe(
  Flag.withDescription("The words of a user, in place of a request body on standard input."),
  Flag.optional
)

const modelAllow = Flag.String("model-allow").pipe(
  Flag.withMetavar("IDS"),
  Flag.withDescription("Decide as for a key that may use these models alone, separated by commas."),
  Flag.optional
)

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON."), Flag.withDefault(false))

export const explainCommand = Command.make(
  "explain",
  { text, modelAllow, json, catalog: RouteCatalog.catalog, everyModel: RouteCatalog.everyModel },
  Effect.fn(function* ({ json, modelAllow, text }) {
    const body = Option.isSome(text)
      ? JSON.stringify({ messages: [{ role: "user", content: text.value }] })
      : yield* standardInput
    const allowed = Option.match(modelAllow, {
      onNone: () => undefined,
      onSome: (ids) => new Set(ids.split(",").map((id) => modelId(id.trim())))
    })
    const decision = decide(body, { router: yield* Router, clock: yield* Clock.Clock, allowed })
    if (Result.isFailure(decision)) {
      const { code, message } = decision.failure.error
      return yield* new NoRequest({ message: `${code}: ${message}` })
    }
    const explanation = explanationOf(decision.success)
    yield* Console.log(
      json ? JSON.stringify(explanationJson(explanation), null, 2) : explanationText(explanation).join("\n")
    )
  })
).pipe(
  Command.withDescription(
    "Explain the choice of a model for the chat request on standard input, any that the gateway takes. Models count " +
      "as served as they are by a gateway with this environment."
  ),
  Command.provide((options) => Router.layer.pipe(Layer.provide(RouteCatalog.routeCatalogLayer(options))))
)

const standardInput = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  if (yield* stdio.stdinIsTerminal) {
    return yield* new NoRequest({ message: "Give a request body on standard input, or the words of a user as --text" })
  }
  const body = yield* stdio.stdin.pipe(
    Stream.decodeText,
    Stream.runFoldEffect(
      () => "",
      (read, piece) =>
        read.length + piece.length > lengthMax
          ? Effect.fail(new NoRequest({ message: `A request body may have ${lengthMax} characters` }))
          : Effect.succeed(read + piece)
    )
  )
  return body
})
