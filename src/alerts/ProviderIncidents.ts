/**
 * Alerts when a provider refuses our account and when the breaker of an endpoint stays open, and when that is over.
 *
 * Every gateway has breakers of its own, so an incident is one of all gateways: it begins when the first one sees it,
 * and ends when none has seen it for a while and one got an answer since it began. A gateway that was just started
 * knows nothing, which ends no incident.
 */
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"

import { Catalog } from "../catalog/Catalog.ts"
import type { EndpointId, ProviderId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { accountRefusedSince, ProviderHealth } from "../providers/dispatch/ProviderHealth.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { Alerts } from "./Alerts.ts"

export interface IncidentOptions {
  /** How long a breaker has to be open. */
  readonly breakerMinutes: number
}

/** Two looks and a bit: a gateway that has not seen an incident for this long sees it no more, or has stopped. */
const reportLifetime = Duration.seconds(150)

/** How an incident of a kind ends. */
const endings = {
  "provider.credentials_refused": "provider.credentials_accepted",
  "provider.breaker_open": "provider.breaker_closed"
} as const

export const incidentKinds = ["provider.credentials_refused", "provider.breaker_open"] as const
export const incidentAlerts = [...incidentKinds, ...Object.values(endings)]

/** What this gateway knows of something that can have an incident. */
interface Observation {
  readonly kind: keyof typeof endings
  readonly subject: string
  readonly isIncident: boolean
  /** When it last answered, in milliseconds since 1970. */
  readonly lastAnswerMillis: number
  readonly data: JsonObject
}

interface ServedEndpoint {
  readonly id: EndpointId
  readonly provider: ProviderId
}

const isoTime = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** Makes a function that looks at all providers that are switched on. It remembers since when breakers are open. */
export const makeProviderIncidents = Effect.fnUntraced(function* ({ breakerMinutes }: IncidentOptions) {
  const catalog = yield* Catalog
  const health = yield* ProviderHealth
  const { gateway } = yield* CreditLedger
  const gatewayId = yield* gateway
  const served: ReadonlyArray<ServedEndpoint> = catalog.models
    .flatMap(({ endpoints }) => endpoints)
    .filter(({ provider }) => catalog.account(provider) !== undefined)
  const byProvider = Map.groupBy(served, ({ provider }) => provider)
  /** Since when each breaker is not closed, as the looks saw it. The catalog bounds them. */
  const openSince = new Map<EndpointId, number>()

  const observeProvider = (provider: ProviderId, endpoints: ReadonlyArray<ServedEndpoint>): Observation => {
    const seen = endpoints.map(({ id }) => health.endpoint(id))
    const since = accountRefusedSince(seen)
    return {
      kind: "provider.credentials_refused",
      subject: provider,
      isIncident: since !== undefined,
      lastAnswerMillis: Math.max(0, ...seen.map(({ lastAnswerMillis = 0 }) => lastAnswerMillis)),
      data: { provider, ...(since !== undefined && { since: isoTime(since), gateway_id: gatewayId }) }
    }
  }

  const observeEndpoint = ({ id, provider }: ServedEndpoint, now: number): Observation => {
    const { breaker, lastAnswerMillis = 0, lastFailure } = health.endpoint(id)
    const known = openSince.get(id) ?? now
    // An answer between two looks closed the breaker, so that what is open now has opened since.
    const since = lastAnswerMillis > known ? now : known
    if (breaker === "closed") openSince.delete(id)
    else openSince.set(id, since)
    const isLong = now - since >= Duration.toMillis(Duration.minutes(breakerMinutes))
    return {
      kind: "provider.breaker_open",
      subject: id,
      // A half-open breaker waits for a call, which nobody may be making: it neither begins an incident nor ends one.
      isIncident: breaker === "open" && isLong,
      lastAnswerMillis: breaker === "closed" ? lastAnswerMillis : 0,
      data: {
        endpoint: id,
        provider,
        ...(breaker !== "closed" && {
          since: isoTime(since),
          last_failure: lastFailure?.class ?? null,
          gateway_id: gatewayId
        })
      }
    }
  }

  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const observations = [
      ...Array.from(byProvider, ([provider, endpoints]) => observeProvider(provider, endpoints)),
      ...served.map((endpoint) => observeEndpoint(endpoint, now))
    ]
    for (const observation of observations.filter(({ isIncident }) => isIncident)) yield* begin(observation, gatewayId)
    yield* endAnswered(observations)
  }).pipe(Effect.withSpan("ProviderIncidents.check"))
})

const begin = Effect.fnUntraced(function* ({ data, kind, subject }: Observation, gatewayId: string) {
  const sql = yield* SqlClient.SqlClient
  const alerts = yield* Alerts
  const now = timestamp(yield* Clock.currentTimeMillis)
  yield* sql`
    INSERT INTO alert_report (kind, subject, gateway_id, seen_at) VALUES (${kind}, ${subject}, ${gatewayId}, ${now})
    ON CONFLICT (kind, subject, gateway_id) DO UPDATE SET seen_at = excluded.seen_at`
  yield* alerts.raise({ kind, subject }, { type: kind, data })
})

/** Ends the incidents that no gateway sees any more and of which this one knows an answer. */
const endAnswered = Effect.fnUntraced(function* (observations: ReadonlyArray<Observation>) {
  const sql = yield* SqlClient.SqlClient
  const alerts = yield* Alerts
  const oldest = (yield* Clock.currentTimeMillis) - Duration.toMillis(reportLifetime)
  yield* sql`DELETE FROM alert_report WHERE seen_at <= ${timestamp(oldest)}`
  const unseen = yield* sql<{ readonly kind: string; readonly subject: string; readonly started_at: Date }>`
    SELECT kind, subject, started_at FROM alert_condition
    WHERE kind = ANY (${incidentKinds}::text[]) AND NOT EXISTS (
      SELECT 1 FROM alert_report
      WHERE alert_report.kind = alert_condition.kind AND alert_report.subject = alert_condition.subject
    )`
  for (const { kind, started_at, subject } of unseen) {
    const seen = observations.find((observation) => observation.kind === kind && observation.subject === subject)
    if (seen === undefined || seen.isIncident || seen.lastAnswerMillis <= started_at.getTime()) continue
    const data = { ...seen.data, alerted_at: isoTime(started_at.getTime()) }
    yield* alerts.end({ kind: seen.kind, subject }, Option.some({ type: endings[seen.kind], data }))
  }
})
