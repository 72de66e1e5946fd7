/** `GET /metrics`, for Prometheus. It is no part of the published document: clients have no use for it. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

import * as Errors from "./Errors.ts"

/** The text format of Prometheus. */
export const expositionType = "text/plain; version=0.0.4; charset=utf-8"

export const MetricRoutes = HttpApiGroup.make("metrics")
  .add(
    HttpApiEndpoint.get("scrape", "/metrics", {
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: expositionType })),
      error: [Errors.Unauthorized, Errors.NotFound]
    })
  )
  .annotate(OpenApi.Exclude, true)
