/**
 * The secrets of keys. Only the SHA-256 of a secret is stored. A generated one has 256 random bits, so it cannot be
 * guessed from its hash, and a slow hash would protect it no better.
 *
 * The result of a look-up, whether the key was found or not, serves every request that comes within a second of the
 * look-up's start, however long it took: so a busy database delays requests, and does not make a revoked key live
 * longer. A key is refused from a second after its revocation, on every replica and without messages between them.
 */
import { hash } from "node:crypto"

import { Cache, Clock, Duration, Effect, Option, Redacted } from "effect"
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

/** What a look-up found, with the time that says how long it may be trusted. */
interface Lookup<A> {
  readonly key: Option.Option<A>
  readonly startedAtMillis: number
}

/**
 * Looks keys up by their secrets, with a cache in front. `find` reads what is stored under the hexadecimal hash. Fails
 * with `InvalidKey` where nothing is, and with `Unavailable` if the database does not answer.
 *
 * What is known already is answered with an exit, for which no fiber has to do anything: `Cache.get` takes six
 * operations of the request's fiber. Effect's cache is left with the look-ups that are under way, and joins them.
 */
export const makeKeyLookup = <A>(
  find: (sha256: string) => Effect.Effect<Option.Option<A>, SqlError.SqlError>
): Effect.Effect<(secret: Redacted.Redacted) => Effect.Effect<A, AccessError>> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const known = new Map<string, Lookup<A>>()
    const keep = (sha256: string, lookup: Lookup<A>): void => {
      known.delete(sha256)
      const [oldest] = known.keys()
      if (known.size >= cacheCapacity && oldest !== undefined) known.delete(oldest)
      known.set(sha256, lookup)
    }
    const lookup = Effect.fnUntraced(function* (sha256: string): Effect.fn.Return<Lookup<A>, AccessError> {
      const startedAtMillis = clock.currentTimeMillisUnsafe()
      const key = yield* find(sha256).pipe(Effect.timeout(lookupTimeout), Effect.mapError(accessUnavailable))
      const found = { key, startedAtMillis }
      keep(sha256, found)
      return found
    })
    const underWay = yield* Cache.makeWith(lookup, { capacity: cacheCapacity, timeToLive: () => Duration.zero })
    /** A look-up that was under way for longer than it may be trusted, when it was joined, is followed by a new one. */
    const lookUp = (sha256: string, cameAtMillis: number) =>
      Effect.flatMap(Cache.get(underWay, sha256), (joined) =>
        isCurrent(joined, cameAtMillis) ? keyIn(joined) : Effect.flatMap(Cache.get(underWay, sha256), keyIn)
      )
    return (secret) => {
      const { length } = Redacted.value(secret)
      if (length === 0 || length > maxSecretLength) return unknownKey
      const sha256 = hashOfSecret(secret)
      const cameAtMillis = clock.currentTimeMillisUnsafe()
      const found = known.get(sha256)
      return found !== undefined && isCurrent(found, cameAtMillis) ? keyIn(found) : lookUp(sha256, cameAtMillis)
    }
  })

const unknownKey = Effect.fail(invalidKey("unknown"))

const keyIn = <A>({ key }: Lookup<A>): Effect.Effect<A, AccessError> =>
  Option.isNone(key) ? unknownKey : Effect.succeed(key.value)

const isCurrent = ({ startedAtMillis }: Lookup<unknown>, nowMillis: number): boolean =>
  nowMillis - startedAtMillis < cacheLifetimeMillis
