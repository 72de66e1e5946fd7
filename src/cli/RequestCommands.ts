/** `tollgate requests`: the request log, and the receipt of a request as text. */
import { Clock, Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import { AdminClient } from "./AdminClient.ts"
import { adminCommandLayer, adminFlags, given, responseMode } from "./AdminCommand.ts"
import { type ListColumns, Output, pageFlags, printAnswer, printList } from "./AdminOutput.ts"
import { receiptLines } from "./ReceiptText.ts"
import { csv, idsOf, labels, owners, spanFlags, timeIn } from "./SearchFlags.ts"

const flag = (name: string, description: string) =>
  Flag.Literals(name, ["true", "false"]).pipe(Flag.withDescription(description), Flag.optional)

const usd = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar("USD"), Flag.withDescription(description), Flag.optional)

const millis = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withMetavar("MS"), Flag.withDescription(description), Flag.optional)

const filters = {
  ...spanFlags,
  ...owners,
  ...labels,
  endpoint: Flag.String("endpoint").pipe(
    Flag.withDescription("Only those that this endpoint answered."),
    Flag.optional
  ),
  failedOver: flag(
    "failed-over",
    "Only those for which more than one endpoint was tried or skipped, or only the others."
  ),
  routed: flag("routed", "Only those whose model the gateway chose, or only the others."),
  pinned: flag("pinned", "Only those whose model is that of the session, or only the others."),
  stream: flag("stream", "Only those that were streamed, or only the others."),
  minCost: usd("min-cost", "Only those that cost this or more."),
  maxCost: usd("max-cost", "Only those that cost this or less."),
  minDuration: millis("min-duration", "Only those that took this long or longer."),
  maxDuration: millis("max-duration", "Only those that took this long or less.")
} as const

const queryOf = Effect.fnUntraced(function* (input: Command.Command.Config.Infer<typeof filters>) {
  const nowMillis = yield* Clock.currentTimeMillis
  const time = Option.map((text: string) => timeIn(text, nowMillis))
  return {
    ...(yield* idsOf(input)),
    ...given({
      from: time(input.from),
      to: time(input.to),
      model: input.model,
      provider: input.provider,
      endpoint: input.endpoint,
      outcome: input.outcome,
      call_name: input.callName,
      end_user_id: input.endUser,
      failed_over: input.failedOver,
      routed: input.routed,
      pinned: input.pinned,
      stream: input.stream,
      min_cost_usd: input.minCost,
      max_cost_usd: input.maxCost,
      min_duration_ms: input.minDuration,
      max_duration_ms: input.maxDuration
    })
  }
})

/** The rest is shown by `get`. */
export const requestListColumns: ListColumns = {
  columns: [{ title: "at", members: ["at"], shows: "minute" }, "id", "outcome", "model", "attempts", "cost_usd"],
  numbers: ["attempts", "cost_usd"]
}

const list = Command.make(
  "list",
  { ...pageFlags, ...filters, csv },
  Effect.fn(function* ({ all, csv, cursor, limit, ...input }) {
    const { requests } = yield* AdminClient
    const query = yield* queryOf(input)
    if (csv) {
      const page = given({ limit: all ? Option.none<number>() : limit, cursor })
      return yield* Console.log(String(yield* requests.list({ query: { ...query, ...page, format: "csv" } })).trimEnd())
    }
    yield* printList({ all, cursor, limit }, requestListColumns, (page) =>
      requests.list({ query: { ...query, ...page }, responseMode })
    )
  })
).pipe(
  Command.withDescription(
    "List requests, the latest first; of the last 31 days if nothing else is said. --csv has all."
  )
)

const show = Command.make(
  "show",
  { id: Argument.String("id").pipe(Argument.withDescription("The id of a request, or of an answer.")) },
  Effect.fn(function* ({ id }) {
    const { requests } = yield* AdminClient
    const { json } = yield* Output
    const answer = requests.get({ params: { id }, responseMode })
    if (json) return yield* printAnswer(answer)
    const [receipt] = yield* answer
    yield* Console.log(receiptLines(receipt).join("\n"))
  })
).pipe(
  Command.withAlias("get"),
  Command.withDescription("Show a receipt: the attempts in time, the charge, and why the model was chosen.")
)

export const requestCommands = Command.make("requests").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("The log of requests and their receipts."),
  Command.withSubcommands([list, show]),
  Command.provide(adminCommandLayer)
)
