/**
 * `tollgate route explain`: one decision of the router, explained to a person. It shows the demand, the requirements,
 * every candidate with its shortfall, and every excluded model with the reason.
 */
import { Clock, Console, Data, Effect, Layer, Option, Result, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"

import { modelId } from "../domain/Ids.ts"
import { Router } from "../routing/Router.ts"
import { lineLengthMax } from "./JsonLines.ts"
import * as RouteCatalog from "./RouteCatalog.ts"
import { decide } from "./RouteDecision.ts"
import { explanationOf, explanationJson, explanationText } from "./RouteExplanation.ts"

/** There was no request body, or not one that the gateway accepts. */
export class InvalidRouteInput extends Data.TaggedError("InvalidRouteInput")<{ readonly message: string }> {}

const text = Flag.String("text").pipe(
  Flag.withDescription("The text of a user message, instead of a request body on standard input."),
  Flag.optional
)

const modelAllow = Flag.String("model-allow").pipe(
  Flag.withMetavar("IDS"),
  Flag.withDescription("Decide as for an API key that may use only these models, separated by commas."),
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
      return yield* new InvalidRouteInput({ message: `${code}: ${message}` })
    }
    const explanation = explanationOf(decision.success)
    yield* Console.log(
      json ? JSON.stringify(explanationJson(explanation), null, 2) : explanationText(explanation).join("\n")
    )
  })
).pipe(
  Command.withShortDescription("Explain the choice of a model for the chat request on standard input."),
  Command.withDescription(
    "Explain the choice of a model for the chat request on standard input, in any form that the gateway accepts. The " +
      "models that count as served are those that a gateway with this environment would serve."
  ),
  Command.provide((options) => Router.layer.pipe(Layer.provide(RouteCatalog.routeCatalogLayer(options))))
)

const standardInput = Effect.gen(function* () {
  const stdio = yield* Stdio.Stdio
  if (yield* stdio.stdinIsTerminal) {
    return yield* new InvalidRouteInput({
      message: "Give a request body on standard input, or the text of a user message with --text"
    })
  }
  return yield* stdio.stdin.pipe(
    Stream.decodeText,
    Stream.runFoldEffect(
      () => "",
      (body, piece) =>
        body.length + piece.length > lineLengthMax
          ? Effect.fail(new InvalidRouteInput({ message: `A request body may have ${lineLengthMax} characters` }))
          : Effect.succeed(body + piece)
    )
  )
})
