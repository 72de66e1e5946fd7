/** Requests and receipts on the wire. */
import { DateTime } from "effect"

import type { LoggedRequestBody, RequestReceipt } from "../../api/admin/RequestRoutes.ts"
import { costOf } from "../../catalog/Price.ts"
import { picodollars, toUsd, zero } from "../../domain/Money.ts"
import { none, type Usage } from "../../domain/Usage.ts"
import type { LoggedRequest } from "../../receipts/LoggedRequest.ts"
import type { Receipt } from "../../receipts/Receipt.ts"
import { millisIn } from "../../receipts/StoredReceipt.ts"
import type { CsvColumns } from "../edge/CsvReply.ts"
import { timeOf } from "../edge/ListWire.ts"
import { bucketNameOf, toGeneration, toRate } from "../generation/GenerationHandlers.ts"

const providerOf = (endpoint: string | null): string | null => endpoint?.split("/")[0] ?? null

export const requestBody = (request: LoggedRequest): typeof LoggedRequestBody.Type => ({
  object: "request",
  id: request.id,
  at: timeOf(request.atMillis),
  organization_id: request.organization,
  project_id: request.project,
  environment_id: request.environment,
  api_key_id: request.key,
  requested_model: request.requestedModel,
  model: request.model,
  provider: providerOf(request.endpoint),
  endpoint: request.endpoint,
  outcome: request.outcome,
  call_name: request.callName,
  end_user_id: request.endUserId,
  stream: request.stream,
  routed: request.routed,
  pinned: request.pinned,
  attempts: request.attempts,
  tokens: request.tokens && {
    input: request.tokens.input,
    cache_read: request.tokens.cacheRead,
    cache_write: request.tokens.cacheWrite,
    audio_input: request.tokens.audioInput,
    output: request.tokens.output,
    reasoning: request.tokens.reasoning
  },
  audio_seconds: request.audioMillis === null ? null : request.audioMillis / 1_000,
  usage_estimated: request.usageEstimated,
  held_usd: toUsd(request.held),
  cost_usd: toUsd(request.cost),
  duration_ms: request.durationMillis,
  first_output_ms: request.firstOutputMillis,
  catalog_version: request.catalogVersion
})

/** The same as columns of CSV. */
export const requestColumns: CsvColumns<LoggedRequest> = {
  id: ({ id }) => id,
  at: ({ atMillis }) => DateTime.formatIso(timeOf(atMillis)),
  organization_id: ({ organization }) => organization,
  project_id: ({ project }) => project,
  environment_id: ({ environment }) => environment,
  api_key_id: ({ key }) => key,
  requested_model: ({ requestedModel }) => requestedModel,
  model: ({ model }) => model,
  provider: ({ endpoint }) => providerOf(endpoint),
  endpoint: ({ endpoint }) => endpoint,
  outcome: ({ outcome }) => outcome,
  call_name: ({ callName }) => callName,
  end_user_id: ({ endUserId }) => endUserId,
  stream: ({ stream }) => stream,
  routed: ({ routed }) => routed,
  pinned: ({ pinned }) => pinned,
  attempts: ({ attempts }) => attempts,
  input_tokens: ({ tokens }) => tokens && tokens.input,
  cache_read_tokens: ({ tokens }) => tokens && tokens.cacheRead,
  cache_write_tokens: ({ tokens }) => tokens && tokens.cacheWrite,
  audio_input_tokens: ({ tokens }) => tokens && tokens.audioInput,
  output_tokens: ({ tokens }) => tokens && tokens.output,
  reasoning_tokens: ({ tokens }) => tokens && tokens.reasoning,
  audio_seconds: ({ audioMillis }) => (audioMillis === null ? null : audioMillis / 1_000),
  usage_estimated: ({ usageEstimated }) => usageEstimated,
  held_usd: ({ held }) => toUsd(held),
  cost_usd: ({ cost }) => toUsd(cost),
  duration_ms: ({ durationMillis }) => durationMillis,
  first_output_ms: ({ firstOutputMillis }) => firstOutputMillis,
  catalog_version: ({ catalogVersion }) => catalogVersion
}

export const receiptBody = (receipt: Receipt): typeof RequestReceipt.Type => ({
  ...toGeneration(receipt),
  id: receipt.id,
  object: "request_receipt",
  // The same as in lists; `created` is that of the last try.
  at: timeOf(millisIn(receipt.id)),
  organization_id: receipt.organization,
  project_id: receipt.project,
  environment_id: receipt.environment,
  api_key_id: receipt.key,
  charge: chargeOf(receipt),
  rule: receipt.rule ?? null,
  ...marginOf(receipt)
})

/** Receipts without a provider's cost are of a version that charged what the provider bills, or of nothing known. */
const marginOf = ({ cost, providerCost = cost }: Receipt) => ({
  provider_cost_usd: toUsd(providerCost),
  margin_usd: toUsd(picodollars(cost - providerCost))
})

const tokenBuckets = ["input", "cacheRead", "cacheWrite5m", "cacheWrite1h", "audioInput", "output"] as const

const freeRates = {
  input: zero,
  cacheRead: zero,
  cacheWrite5m: zero,
  cacheWrite1h: zero,
  audioInput: zero,
  output: zero
}

/** What each kind of usage costs at the rates of the receipt; nothing where the rates are not known. */
const chargeOf = ({ rateDivisor, rates, usage }: Receipt): (typeof RequestReceipt.Type)["charge"] => {
  if (rates === undefined || usage === undefined) return []
  const divisor = rateDivisor === undefined ? {} : { divisor: rateDivisor }
  const costAlone = (bucket: string, rate: bigint, alone: Partial<Usage>) =>
    toUsd(
      costOf({ rates: { ...freeRates, [bucket]: picodollars(rate) }, tiers: [], ...divisor }, { ...none, ...alone })
    )
  const tokens = tokenBuckets.flatMap((bucket) => {
    const [count, rate] = [usage[bucket], rates[bucket]]
    if (count === 0 || rate === undefined) return []
    const amount_usd = costAlone(bucket, rate, { [bucket]: count })
    return [{ unit: bucketNameOf(bucket), count, picodollars: toRate(rate, rateDivisor), amount_usd }]
  })
  const [{ audioMillis }, { audioHour }] = [usage, rates]
  if (audioMillis === undefined || audioHour === undefined) return tokens
  const amount_usd = costAlone("audioHour", audioHour, { audioMillis })
  return [...tokens, { unit: "audio_ms", count: audioMillis, picodollars: toRate(audioHour, rateDivisor), amount_usd }]
}
