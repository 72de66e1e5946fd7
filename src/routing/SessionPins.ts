/**
 * Session pins: the model that a conversation stays on. All replicas share them, they survive restarts, and they expire
 * fifteen minutes after their last use.
 *
 * A pin improves answers and keeps provider caches warm, but no request depends on it: when the database fails or is
 * slow, the request goes on without a pin.
 */
import { hash } from "node:crypto"

import { Cause, Clock, Context, Duration, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { type ModelId, modelId, type OrganizationId } from "../domain/Ids.ts"
import { describeFault } from "../observability/ErrorDescription.ts"
import { deleteExpired } from "../sql/Expiry.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { type Deadline, makeDeadlines } from "../timing/Deadlines.ts"

/** A session of one organization. Two organizations may use the same session id. */
export interface Session {
  readonly organization: OrganizationId
  /** The session id as the client sent it. Only its hash is stored. */
  readonly session: string
}

/** A live pin. */
export interface SessionPin {
  readonly model: ModelId
  /** False while no answer has come from the model: until then the first answer decides where the session stays. */
  readonly confirmed: boolean
}

export class SessionPins extends Context.Service<
  SessionPins,
  {
    /** The pin, if it has not expired; its fifteen minutes start again. */
    readonly use: (session: Session) => Effect.Effect<Option.Option<SessionPin>>
    /**
     * Pins the session to `model` unless it is pinned already. Returns the pinned model: the first writer wins. The pin
     * is a claim until an answer confirms it.
     */
    readonly pin: (session: Session, model: ModelId) => Effect.Effect<ModelId>
    /**
     * Moves a pin away from a model that can no longer serve the session, unless another request has already moved it.
     * Returns the pinned model. The moved pin is a claim again.
     */
    readonly move: (session: Session, move: { readonly from: ModelId; readonly to: ModelId }) => Effect.Effect<ModelId>
    /**
     * Pins the session for good to the model that answered, unless an answer of another request has already done so:
     * the first answer wins, whatever model the session was claimed for. Returns the pinned model.
     */
    readonly confirm: (session: Session, answered: ModelId) => Effect.Effect<ModelId>
  }
>()("tollgate/routing/SessionPins") {
  /** Pins in the database, with a sweep that removes the expired ones. */
  static readonly layer = Layer.effect(
    SessionPins,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /**
       * `from` is the model that may be replaced although its pin is live. One statement, so that two writers agree.
       */
      const write = Effect.fnUntraced(function* (session: Session, model: ModelId, from: ModelId | null) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql<PinRow>`
          INSERT INTO session_pin AS pin (organization_id, session_sha256, model, confirmed, expires_at)
          VALUES (${session.organization}, ${hashOf(session)}, ${model}, false, ${expiryFrom(now)})
          ON CONFLICT (organization_id, session_sha256) DO UPDATE SET
            model = CASE WHEN pin.expires_at > ${timestamp(now)} AND pin.model IS DISTINCT FROM ${from}::text
              THEN pin.model ELSE excluded.model END,
            confirmed = pin.confirmed AND pin.expires_at > ${timestamp(now)}
              AND pin.model IS DISTINCT FROM ${from}::text,
            expires_at = greatest(pin.expires_at, excluded.expires_at)
          RETURNING model, confirmed`
        return rows[0] === undefined ? model : modelId(rows[0].model)
      })

      const confirm = Effect.fnUntraced(function* (session: Session, answered: ModelId) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql<PinRow>`
          INSERT INTO session_pin AS pin (organization_id, session_sha256, model, confirmed, expires_at)
          VALUES (${session.organization}, ${hashOf(session)}, ${answered}, true, ${expiryFrom(now)})
          ON CONFLICT (organization_id, session_sha256) DO UPDATE SET
            model = CASE WHEN pin.expires_at > ${timestamp(now)} AND pin.confirmed
              THEN pin.model ELSE excluded.model END,
            confirmed = true,
            expires_at = greatest(pin.expires_at, excluded.expires_at)
          RETURNING model, confirmed`
        return rows[0] === undefined ? answered : modelId(rows[0].model)
      })

      const renew = Effect.fnUntraced(function* (session: Session) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql<PinRow>`
          UPDATE session_pin SET expires_at = greatest(expires_at, ${expiryFrom(now)})
          WHERE organization_id = ${session.organization} AND session_sha256 = ${hashOf(session)}
            AND expires_at > ${timestamp(now)}
          RETURNING model, confirmed`
        return Option.map(Option.fromUndefinedOr(rows[0]), ({ confirmed, model }) => ({
          model: modelId(model),
          confirmed
        }))
      })

      yield* deleteExpired({
        table: "session_pin",
        key: ["organization_id", "session_sha256"],
        batchSize: sweepBatch,
        every: sweepInterval
      })

      const orElse = yield* makeOrElse
      return SessionPins.of({
        use: (session) => orElse(renew(session), Option.none()),
        pin: (session, model) => orElse(write(session, model, null), model),
        move: (session, { from, to }) => orElse(write(session, to, from), to),
        confirm: (session, answered) => orElse(confirm(session, answered), answered)
      })
    })
  )
}

/** How long a pin lives after its last use. */
export const pinLifetime = Duration.minutes(15)
/**
 * A request does not wait longer than this for a pin to be read or written. A shorter wait would move conversations to
 * other models, with nothing in the cache, whenever the machine is busy for a moment.
 */
const timeout = Duration.seconds(3)
const sweepInterval = Duration.minutes(1)
const sweepBatch = 1_000

interface PinRow {
  readonly model: string
  readonly confirmed: boolean
}

const expiryFrom = (nowMillis: number) => timestamp(nowMillis + Duration.toMillis(pinLifetime))

const hashOf = ({ session }: Session): Uint8Array => hash("sha256", session, "buffer")

/**
 * Yields a function that gives `fallback` when the database fails or takes longer than `timeout`. `Effect.timeout`
 * takes two fibers, one of them to sleep. Here the statement has one, and the deadlines of all share a timer.
 */
const makeOrElse = Effect.gen(function* () {
  const deadlines = yield* makeDeadlines
  const fork = Effect.runForkWith(yield* Effect.context<never>())

  const answered = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.callback<A, SqlError.SqlError | Cause.TimeoutError>((resume) => {
      const fiber = fork(statement)
      const deadline: Deadline = {
        expiresAtMillis: deadlines.nowMillis() + Duration.toMillis(timeout),
        expire: () => {
          resume(Effect.fail(new Cause.TimeoutError("The database took too long")))
          fiber.interruptUnsafe()
        }
      }
      deadlines.watch(deadline)
      fiber.addObserver((exit) => {
        deadlines.forget(deadline)
        resume(exit)
      })
      return Fiber.interrupt(fiber)
    })

  return <A>(statement: Effect.Effect<A, SqlError.SqlError>, fallback: A): Effect.Effect<A> =>
    Effect.catch(answered(statement), (error) =>
      Effect.logWarning("A session pin could not be read or written").pipe(
        Effect.annotateLogs({ cause: describeFault(error) }),
        Effect.as(fallback)
      )
    )
})
