/**
 * Sticky sessions: which model a conversation stays on. Shared by all replicas, survives restarts, and expires fifteen
 * minutes after its last use.
 *
 * A pin makes answers better and caches warmer, no more: when the database fails or is slow, a request goes on without.
 */
import { hash } from "node:crypto"

import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { type ModelId, modelId, type OrganizationId } from "../domain/Ids.ts"
import { sweepForever } from "../sql/Expiry.ts"
import { timestamp } from "../sql/Timestamp.ts"

export interface Session {
  readonly organization: OrganizationId
  /** As the client sent it. Stored only as a hash. */
  readonly session: string
}

export class SessionPins extends Context.Service<
  SessionPins,
  {
    /** The live pin, its fifteen minutes started anew. */
    readonly use: (session: Session) => Effect.Effect<Option.Option<ModelId>>
    /** Pins unless a live pin is already there; answers the model that is pinned now. The first writer wins. */
    readonly pin: (session: Session, model: ModelId) => Effect.Effect<ModelId>
    /** Moves a pin away from a model that cannot serve the session any more, unless somebody already moved it. */
    readonly move: (session: Session, move: { readonly from: ModelId; readonly to: ModelId }) => Effect.Effect<ModelId>
  }
>()("tollgate/routing/SessionPins") {
  /** Pins in the database, and the sweep that removes those that have expired. */
  static readonly layerSql = Layer.effect(
    SessionPins,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Effect.forkScoped(
        sweepForever({
          batch: sweep(sql),
          every: sweepInterval,
          complaint: "Expired session pins could not be removed"
        })
      )
      return makePins(sql)
    })
  )
}

/** A pin lives this long after its last use. */
export const pinLifetime = Duration.minutes(15)
/** Routing does not wait longer for a pin. */
const patience = Duration.seconds(1)
const sweepInterval = Duration.minutes(1)
const sweepBatch = 1_000

interface PinRow {
  readonly model: string
}

const makePins = (sql: SqlClient.SqlClient): SessionPins["Service"] => {
  /** `from`: the model that may be replaced although its pin is live. One statement, so that two writers agree. */
  const write = Effect.fnUntraced(function* (session: Session, model: ModelId, from: ModelId | null) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql<PinRow>`
      INSERT INTO session_pin AS pin (organization_id, session_sha256, model, expires_at)
      VALUES (${session.organization}, ${hashOf(session)}, ${model}, ${expiry(sql, now)})
      ON CONFLICT (organization_id, session_sha256) DO UPDATE SET
        model = CASE WHEN pin.expires_at > ${timestamp(sql, now)} AND pin.model IS DISTINCT FROM ${from}::text
          THEN pin.model ELSE excluded.model END,
        expires_at = greatest(pin.expires_at, excluded.expires_at)
      RETURNING model`
    return pinned(rows, model)
  })

  const refresh = Effect.fnUntraced(function* (session: Session) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql<PinRow>`
      UPDATE session_pin SET expires_at = greatest(expires_at, ${expiry(sql, now)})
      WHERE organization_id = ${session.organization} AND session_sha256 = ${hashOf(session)}
        AND expires_at > ${timestamp(sql, now)}
      RETURNING model`
    return Option.map(Option.fromUndefinedOr(rows[0]), ({ model }) => modelId(model))
  })

  return SessionPins.of({
    use: (session) => orElse(refresh(session), Option.none()),
    pin: (session, model) => orElse(write(session, model, null), model),
    move: (session, { from, to }) => orElse(write(session, to, from), to)
  })
}

const hashOf = ({ session }: Session): Uint8Array => hash("sha256", session, "buffer")

const expiry = (sql: SqlClient.SqlClient, nowMillis: number) =>
  timestamp(sql, nowMillis + Duration.toMillis(pinLifetime))

const pinned = (rows: ReadonlyArray<PinRow>, otherwise: ModelId): ModelId =>
  rows[0] === undefined ? otherwise : modelId(rows[0].model)

const orElse = <A>(effect: Effect.Effect<A, SqlError.SqlError>, otherwise: A): Effect.Effect<A> =>
  effect.pipe(
    Effect.timeout(patience),
    Effect.catch((error) =>
      Effect.as(Effect.logWarning("A session pin could not be read or written", error), otherwise)
    )
  )

/** Removes one batch of expired pins; answers whether there may be more. */
const sweep = Effect.fn("SessionPins.sweep")(function* (sql: SqlClient.SqlClient) {
  const now = timestamp(sql, yield* Clock.currentTimeMillis)
  const removed = yield* sql`
    DELETE FROM session_pin WHERE (organization_id, session_sha256) IN (
      SELECT organization_id, session_sha256 FROM session_pin WHERE expires_at <= ${now}
      ORDER BY expires_at LIMIT ${sweepBatch} FOR UPDATE SKIP LOCKED
    ) RETURNING 1 AS removed`
  return removed.length === sweepBatch
})
