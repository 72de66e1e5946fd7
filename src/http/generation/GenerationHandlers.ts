/** `GET /v1/generations/{id}`: the receipt of a request. Only the organization that made the request can read it. */
import { Effect, Option, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { NotFound } from "../../api/Errors.ts"
import type { Generation } from "../../api/Generation.ts"
import { RequestId } from "../../domain/Ids.ts"
import { toUsd, zero } from "../../domain/Money.ts"
import type { Receipt } from "../../receipts/Receipt.ts"
import { RequestLog } from "../../receipts/RequestLog.ts"
import { completionId, requestIdIn } from "../chat/ChatAnswer.ts"
import { choicesBody } from "./ChoicesBody.ts"

const isRequestId = Schema.is(RequestId)

export const generationHandlersLayer = HttpApiBuilder.group(Api, "generations", (handlers) =>
  Effect.gen(function* () {
    const requestLog = yield* RequestLog
    return handlers.handle(
      "get",
      Effect.fnUntraced(function* ({ params }) {
        const { organization } = yield* CurrentCaller
        const id = requestIdIn(params.id)
        const found = isRequestId(id) ? yield* Effect.orDie(requestLog.find(organization, id)) : Option.none()
        if (Option.isNone(found)) return yield* NotFound.of("There is no such request")
        return toGeneration(found.value)
      })
    )
  })
)

export const toGeneration = (receipt: Receipt): typeof Generation.Type => ({
  id: completionId(receipt.id),
  object: "generation",
  created: Math.floor(receipt.atMillis / 1_000),
  stream: receipt.stream,
  outcome: receipt.outcome,
  requested_model: receipt.requestedModel ?? null,
  model: receipt.served?.model ?? null,
  endpoint: receipt.served?.endpoint ?? null,
  call_name: receipt.callName ?? null,
  end_user_id: receipt.endUserId ?? null,
  audio: receipt.audio === undefined ? null : { ms: receipt.audio.millis, basis: receipt.audio.basis },
  choices: receipt.choices === undefined ? null : choicesBody(receipt.choices),
  attempts: receipt.attempts.map((attempt) => ({
    model: attempt.model,
    endpoint: attempt.endpoint,
    outcome: attempt.outcome,
    status: attempt.status ?? null,
    latency_ms: attempt.latencyMillis
  })),
  adjusted: receipt.adjusted ?? [],
  routing: receipt.routing === undefined ? null : toRouting(receipt.routing),
  tokens: toTokens(receipt),
  picodollars_per_token: toRates(receipt),
  billed_audio_ms: receipt.usage?.audioMillis ?? null,
  picodollars_per_audio_hour: toHourlyRate(receipt),
  catalog_version: receipt.catalogVersion,
  held_usd: toUsd(receipt.held),
  cost_usd: toUsd(receipt.cost),
  uncollected_usd: toUsd(receipt.uncollected ?? zero),
  duration_ms: receipt.durationMillis,
  first_output_ms: receipt.firstOutputMillis ?? null
})

const toRouting = (routing: NonNullable<Receipt["routing"]>): NonNullable<(typeof Generation.Type)["routing"]> => ({
  latency_ms: routing.latencyMillis,
  pinned: routing.pinned,
  tier: routing.features?.tier ?? null,
  prompt_tokens: routing.features?.promptTokens ?? null,
  difficulty: routing.difficulty,
  demand: routing.demand,
  candidates: routing.candidates.map(({ cost, distance, model }) => ({ model, distance, cost_usd: toUsd(cost) })),
  excluded: routing.excluded
})

/** The wire names of the usage buckets, the same in `tokens` and in the rates, so that a charge can be recomputed. */
const bucketNames: { readonly [bucket: string]: string } = {
  cacheRead: "cache_read",
  cacheWrite5m: "cache_write_5m",
  cacheWrite1h: "cache_write_1h",
  audioInput: "audio_input"
}

export const bucketNameOf = (bucket: string): string => bucketNames[bucket] ?? bucket

const toRates = ({ rateDivisor, rates }: Receipt): { readonly [bucket: string]: string } | null =>
  rates === undefined
    ? null
    : Object.fromEntries(
        Object.entries(rates).flatMap(([bucket, rate]) =>
          bucket === "audioHour" ? [] : [[bucketNameOf(bucket), toRate(rate, rateDivisor)]]
        )
      )

const toHourlyRate = ({ rateDivisor, rates }: Receipt): string | null => {
  const rate = rates?.["audioHour"]
  return rate === undefined ? null : toRate(rate, rateDivisor)
}

/** An exact decimal: a divisor divides a million. */
export const toRate = (rate: bigint, divisor = 1n): string => {
  const millionths = (rate * (1_000_000n / divisor)).toString().padStart(7, "0")
  return `${millionths.slice(0, -6)}.${millionths.slice(-6)}`.replace(/\.?0+$/, "")
}

const toTokens = ({ usage, usageEstimated }: Receipt): (typeof Generation.Type)["tokens"] =>
  usage === undefined
    ? null
    : {
        input: usage.input,
        cache_read: usage.cacheRead,
        cache_write_5m: usage.cacheWrite5m,
        cache_write_1h: usage.cacheWrite1h,
        audio_input: usage.audioInput,
        output: usage.output,
        reasoning: usage.reasoning,
        estimated: usageEstimated
      }
