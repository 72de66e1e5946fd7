import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"

import { collectorWatchLayer } from "../../src/observability/CollectorWatch.ts"

type Answer = number | "refused"

/** Posts telemetry to a collector that answers so, in turn, and gives what is logged. */
const logged = Effect.fnUntraced(function* (posts: ReadonlyArray<readonly [path: string, answer: Answer]>) {
  const lines: Array<unknown> = []
  const logger = Logger.make(({ fiber, logLevel, message }) =>
    lines.push([logLevel, String(message), fiber.getRef(References.CurrentLogAnnotations)])
  )
  const answers = posts.map(([, answer]) => answer)
  const collector = HttpClient.make((request) => {
    const answer = answers.shift() ?? 200
    return answer === "refused"
      ? Effect.fail(
          new HttpClientError.HttpClientError({
            reason: new HttpClientError.TransportError({
              request,
              cause: Object.assign(new Error(), { code: "ECONNREFUSED" })
            })
          })
        )
      : Effect.succeed(HttpClientResponse.fromWeb(request, new Response(null, { status: answer })))
  })
  yield* Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    for (const [path] of posts) yield* Effect.exit(client.post(`http://user:secret@collector:4318${path}?token=secret`))
  }).pipe(
    Effect.provide(collectorWatchLayer.pipe(Layer.provide(Layer.succeed(HttpClient.HttpClient, collector)))),
    Effect.provide(Logger.layer([logger]))
  )
  return lines
})

const [logs, traces] = ["/v1/logs", "/v1/traces"]
const url = `http://collector:4318${logs}`
const lost = "The OTLP collector takes no telemetry; it is lost until it does"
const back = "The OTLP collector takes telemetry again"

describe("A collector", () => {
  it.effect("that cannot be reached is named once for all telemetry, and once when it answers again", () =>
    Effect.gen(function* () {
      const down = [logs, traces, logs, logs].map((path) => [path, "refused"] as const)
      const lines = yield* logged([[logs, 200], ...down, [logs, 200], [traces, 200], ...down])
      assert.deepStrictEqual(lines, [
        ["Warn", lost, { url, cause: "ECONNREFUSED" }],
        ["Info", back, { url }],
        ["Warn", lost, { url, cause: "ECONNREFUSED" }]
      ])
    })
  )

  it.effect("that takes only a part of the telemetry is named once for the rest", () =>
    Effect.gen(function* () {
      const mixed = [
        [logs, 404],
        [traces, 200]
      ] as const
      const lines = yield* logged([...mixed, ...mixed, ...mixed])
      assert.deepStrictEqual(lines, [["Warn", lost, { url, cause: "It answered with status 404" }]])
    })
  )
})
