/**
 * `GET /metrics`: the metrics of this gateway in the text format of Prometheus. They hold no data of a tenant, so they
 * are open to whoever reaches the port unless `METRICS_KEY` is set; with `METRICS=false` there are none.
 */
import { createHash, timingSafeEqual } from "node:crypto"

import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"

import { Api } from "../../api/Api.ts"
import { NotFound, Unauthorized } from "../../api/Errors.ts"
import { expositionType } from "../../api/MetricRoutes.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { observed } from "../../observability/MetricSeries.ts"
import { metricTable } from "../../observability/MetricTable.ts"
import { processMetricsLayer } from "../../observability/ProcessMetrics.ts"
import { Scrape } from "../../observability/Scrape.ts"
import { Drain } from "./Drain.ts"

export interface MetricOptions {
  readonly metrics: {
    readonly areServed: boolean
    /** The bearer token that a scrape must carry. */
    readonly key: Option.Option<Redacted.Redacted>
  }
}

export const metricHandlersLayer = ({ metrics: { areServed, key } }: MetricOptions) =>
  HttpApiBuilder.group(Api, "metrics", (handlers) =>
    Effect.gen(function* () {
      const { version } = yield* Catalog
      const { requests } = yield* Drain
      yield* Layer.build(processMetricsLayer({ catalog: version }))
      yield* observed(metricTable.openRequests, () => requests.open)
      const context = yield* Effect.context<never>()
      const scrape = yield* (yield* Scrape)(() => PrometheusMetrics.formatUnsafe(context))
      const wanted = Option.map(key, (text) => digestOf(`Bearer ${Redacted.value(text)}`))
      const mayRead = (authorization: string | undefined): boolean =>
        Option.match(wanted, {
          onNone: () => true,
          onSome: (digest) => authorization !== undefined && timingSafeEqual(digestOf(authorization), digest)
        })
      return handlers.handleRaw("scrape", ({ request }) => {
        if (!areServed) return Effect.fail(NotFound.of("Metrics are switched off: METRICS is false"))
        if (!mayRead(request.headers["authorization"])) {
          return Effect.fail(
            Unauthorized.of("Missing or invalid key; set METRICS_KEY as the bearer token of the scrape")
          )
        }
        return Effect.map(scrape, (text) => HttpServerResponse.text(text, { contentType: expositionType }))
      })
    })
  )

/** Digests have one length, so that comparing them tells nothing about the key. */
const digestOf = (text: string): Uint8Array => createHash("sha256").update(text).digest()
