/**
 * The secrets of keys. Only the SHA-256 of a secret is stored. A generated one has 256 random bits, so it cannot be
 * guessed from its hash, and a slow hash would protect it no better.
 *
 * The result of a look-up, whether the key was found or not, serves every request that comes within a second of the
 * look-up's start, however long it took: so a busy database delays requests, and does not make a revoked key live
 * longer. A key is refused from a second after its revocation, on every replica and without messages between them.
 */
import { hash } from "node:crypto"

import { Cache, Clock, Duration, Effect, Exit, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"
import type { SqlError } from "effect/sql"

import { type AccessError, accessUnavailable, invalidKey } from "./AccessError.ts"

const secretBytes = 32
const cacheCapacity = 10_000
const cacheLifetimeMillis = 1_000
/** Long enough that a database or a machine that is busy for a moment fails no request. */
const lookupTimeout = Duration.seconds(5)
/** Longer text cannot be a key and is not worth hashing. */
const maxSecretLength = 512
/** How many characters of a key are stored as text, for its owner to recognise it; and never more than this share. */
const displayedLength = 11
const displayedShare = 1 / 4

/** A new secret. `prefix` tells people and programs that scan for leaked secrets what it opens. */
export const generateSecret = (prefix: string): Effect.Effect<Redacted.Redacted, never, SecureRandom.SecureRandom> =>
  Effect.flatMap(SecureRandom.SecureRandom, (random) =>
    Effect.map(random.randomBytes(secretBytes), (bytes) => Redacted.make(`${prefix}${Base64Url.encode(bytes)}`))
  )

/** The hash is hexadecimal text, so that it can be the key of a cache. */
export const hashOfSecret = (secret: Redacted.Redacted): string => hash("sha256", Redacted.value(secret))

/** The first characters of a secret, for its owner to recognise it. */
export const displayPrefixOf = (secret: Redacted.Redacted, length = displayedLength): string => {
  const text = Redacted.value(secret)
  return text.slice(0, Math.min(length, Math.floor(text.length * displayedShare)))
}

/** What a look-up found, with the times that say how long it may be trusted. */
interface Lookup<A> {
  readonly key: Option.Option<A>
  readonly startedAtMillis: number
  readonly tookMillis: number
}

/**
 * Looks keys up by their secrets, with a cache in front. `find` reads what is stored under the hexadecimal hash. Fails
 * with `InvalidKey` where nothing is, and with `Unavailable` if the database does not answer.
 */
export const makeKeyLookup = <A>(
  find: (sha256: string) => Effect.Effect<Option.Option<A>, SqlError.SqlError>
): Effect.Effect<(secret: Redacted.Redacted) => Effect.Effect<A, AccessError>> =>
  Effect.gen(function* () {
    const lookup = Effect.fnUntraced(function* (sha256: string): Effect.fn.Return<Lookup<A>, AccessError> {
      const startedAtMillis = yield* Clock.currentTimeMillis
      const key = yield* find(sha256).pipe(Effect.timeout(lookupTimeout), Effect.mapError(accessUnavailable))
      const tookMillis = (yield* Clock.currentTimeMillis) - startedAtMillis
      return { key, startedAtMillis, tookMillis }
    })
    const cache = yield* Cache.makeWith(lookup, {
      capacity: cacheCapacity,
      // A failed look-up is not cached.
      timeToLive: (exit) =>
        Duration.millis(Exit.isSuccess(exit) ? Math.max(0, cacheLifetimeMillis - exit.value.tookMillis) : 0)
    })
    return Effect.fnUntraced(function* (secret: Redacted.Redacted) {
      const { length } = Redacted.value(secret)
      if (length === 0 || length > maxSecretLength) return yield* invalidKey("unknown")
      const sha256 = hashOfSecret(secret)
      const cameAtMillis = yield* Clock.currentTimeMillis
      const joined = yield* Cache.get(cache, sha256)
      // One that was under way for longer than it may be trusted is not in the cache any more: this starts a new one.
      const isCurrent = cameAtMillis - joined.startedAtMillis < cacheLifetimeMillis
      const { key } = isCurrent ? joined : yield* Cache.get(cache, sha256)
      return Option.isNone(key) ? yield* invalidKey("unknown") : key.value
    })
  })
