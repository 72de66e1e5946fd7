/**
 * `tollgate providers` and `tollgate catalog`: how providers are doing, and the prices in force. Only a running gateway
 * knows both.
 */
import { Console, Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"

import { RunningGateway, runningGatewayLayer } from "./AdminClient.ts"
import { type AdminFlags, adminFlags, given, responseMode } from "./AdminCommand.ts"
import { Output, pageFlags, printable, printList } from "./AdminOutput.ts"
import { table } from "./Table.ts"

const runningLayer = ({ json, url }: AdminFlags) =>
  Layer.merge(runningGatewayLayer(url), Layer.succeed(Output, { json }))

const enabled = Flag.Literals("enabled", ["true", "false"]).pipe(
  Flag.withDescription("Only those that are switched on, or only the others."),
  Flag.optional
)

interface Health {
  readonly breaker: string
  readonly retry_after_seconds: number | null
  readonly rate_limited: boolean
  readonly refused_since: unknown
}

const stateOf = ({ breaker, rate_limited, refused_since, retry_after_seconds }: Health): string =>
  [
    breaker === "open" ? `breaker open for ${Math.ceil(retry_after_seconds ?? 0)} s` : `breaker ${breaker}`,
    ...(rate_limited ? ["rate limited"] : []),
    ...(refused_since === null ? [] : ["refuses our account"])
  ].join(", ")

export const providersCommand = Command.make(
  "providers",
  { ...adminFlags, ...pageFlags, enabled },
  Effect.fn(function* ({ all, cursor, enabled, limit, ...flags }) {
    const { catalog } = yield* RunningGateway
    if (flags.json) {
      return yield* printList({ all, cursor, limit }, { columns: [] }, (page) =>
        catalog.listProviders({ query: { ...page, ...given({ enabled }) }, responseMode })
      )
    }
    const rows: Array<ReadonlyArray<string>> = []
    let page: { readonly limit?: number; readonly cursor?: string } | undefined = given({ limit, cursor })
    let gateway = ""
    while (page !== undefined) {
      const answer: Effect.Success<ReturnType<typeof catalog.listProviders>> = yield* catalog.listProviders({
        query: { ...page, ...given({ enabled }) }
      })
      gateway = answer.gateway_id
      for (const provider of answer.data) {
        if (provider.endpoints.length === 0) rows.push([provider.id, "-", provider.enabled ? "on" : "off", "-"])
        for (const endpoint of provider.endpoints) {
          const { last_failure } = endpoint
          const failure =
            last_failure && `${last_failure.class}${last_failure.status === null ? "" : ` ${last_failure.status}`}`
          rows.push([provider.id, endpoint.id, stateOf(endpoint), failure ?? "-"])
        }
      }
      page = answer.next_cursor === null ? undefined : { ...page, cursor: answer.next_cursor }
    }
    yield* Console.log(`gateway ${gateway}`)
    const printed = rows.map((row) => row.map(printable))
    yield* Console.log(table(["provider", "endpoint", "state", "last failure"], printed, []).join("\n"))
  })
).pipe(
  Command.withShortDescription("How providers and their breakers are doing."),
  Command.withDescription("How providers and their breakers are doing, as the gateway that answers sees it."),
  Command.provide((flags) => runningLayer(flags))
)

export const catalogCommand = Command.make(
  "catalog",
  {
    ...adminFlags,
    ...pageFlags,
    served: Flag.Literals("served", ["true", "false"]).pipe(
      Flag.withDescription("Only models of which a provider is switched on, or only the others."),
      Flag.optional
    ),
    provider: Flag.String("provider").pipe(Flag.withDescription("Only models that it can serve."), Flag.optional)
  },
  Effect.fn(function* ({ provider, served, ...page }) {
    const { catalog } = yield* RunningGateway
    const columns = ["id", "kind", "owned_by", "served", "endpoints.0.id", "endpoints.0.price_usd_per_mtok.input"]
    yield* printList(page, { columns: [...columns, "endpoints.0.price_usd_per_mtok.output"] }, (query) =>
      catalog.listModels({ query: { ...query, ...given({ served, provider }) }, responseMode })
    )
  })
).pipe(
  Command.withShortDescription("List the models and their prices."),
  Command.withDescription("List the models, with the price of the first endpoint; --json has every endpoint."),
  Command.provide((flags) => runningLayer(flags))
)
