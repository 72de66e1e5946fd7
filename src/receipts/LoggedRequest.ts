/** A row of the request log without its JSON: what a list of requests shows. */
import type { Picodollars } from "../domain/Money.ts"
import { picodollars } from "../domain/Money.ts"

export interface LoggedRequest {
  readonly id: string
  readonly organization: string
  readonly project: string
  readonly environment: string
  readonly key: string
  /** The time that the id contains. */
  readonly atMillis: number
  readonly requestedModel: string | null
  readonly model: string | null
  readonly endpoint: string | null
  readonly outcome: string
  readonly callName: string | null
  readonly endUserId: string | null
  readonly stream: boolean
  readonly routed: boolean
  readonly pinned: boolean
  readonly attempts: number
  /** Null where nothing was charged. */
  readonly tokens: LoggedTokens | null
  readonly usageEstimated: boolean
  readonly audioMillis: number | null
  readonly held: Picodollars
  readonly cost: Picodollars
  readonly durationMillis: number
  readonly firstOutputMillis: number | null
  readonly catalogVersion: string
}

export interface LoggedTokens {
  readonly input: number
  readonly cacheRead: number
  /** Of both lifetimes. */
  readonly cacheWrite: number
  readonly audioInput: number
  readonly output: number
  readonly reasoning: number
}

/** The columns of `LoggedRequestRow`, and with them those that lists can be narrowed by. */
export const loggedColumns =
  "id, at, organization_id, project_id, environment_id, api_key_id, requested_model, model, endpoint, outcome, " +
  "call_name, end_user_id, stream, routed, pinned, attempts, input_tokens, cache_read_tokens, " +
  "cache_write_5m_tokens + cache_write_1h_tokens AS cache_write_tokens, audio_input_tokens, output_tokens, " +
  "reasoning_tokens, audio_millis, usage_estimated, held, cost, duration_millis, first_output_millis, catalog_version"

export interface LoggedRequestRow {
  readonly id: string | null
  readonly at: Date
  readonly organization_id: string
  readonly project_id: string
  readonly environment_id: string
  readonly api_key_id: string
  readonly requested_model: string | null
  readonly model: string | null
  readonly endpoint: string | null
  readonly outcome: string
  readonly call_name: string | null
  readonly end_user_id: string | null
  readonly stream: boolean
  readonly routed: boolean
  readonly pinned: boolean
  readonly attempts: number
  readonly input_tokens: bigint | null
  readonly cache_read_tokens: bigint
  readonly cache_write_tokens: bigint
  readonly audio_input_tokens: bigint
  readonly output_tokens: bigint
  readonly reasoning_tokens: bigint
  readonly audio_millis: bigint | null
  readonly usage_estimated: boolean
  readonly held: bigint
  readonly cost: bigint
  readonly duration_millis: number
  readonly first_output_millis: number | null
  readonly catalog_version: string
}

/** Nothing for the row that stands for an empty page. */
export const loggedRequestOf = (row: LoggedRequestRow): ReadonlyArray<LoggedRequest> =>
  row.id === null
    ? []
    : [
        {
          id: row.id,
          organization: row.organization_id,
          project: row.project_id,
          environment: row.environment_id,
          key: row.api_key_id,
          atMillis: row.at.getTime(),
          requestedModel: row.requested_model,
          model: row.model,
          endpoint: row.endpoint,
          outcome: row.outcome,
          callName: row.call_name,
          endUserId: row.end_user_id,
          stream: row.stream,
          routed: row.routed,
          pinned: row.pinned,
          attempts: row.attempts,
          tokens: tokensOf(row),
          usageEstimated: row.usage_estimated,
          audioMillis: row.audio_millis === null ? null : Number(row.audio_millis),
          held: picodollars(row.held),
          cost: picodollars(row.cost),
          durationMillis: row.duration_millis,
          firstOutputMillis: row.first_output_millis,
          catalogVersion: row.catalog_version
        }
      ]

const tokensOf = (row: LoggedRequestRow): LoggedTokens | null =>
  row.input_tokens === null
    ? null
    : {
        input: Number(row.input_tokens),
        cacheRead: Number(row.cache_read_tokens),
        cacheWrite: Number(row.cache_write_tokens),
        audioInput: Number(row.audio_input_tokens),
        output: Number(row.output_tokens),
        reasoning: Number(row.reasoning_tokens)
      }
