/**
 * The ids of requests: UUIDs of version 7, in the order in which they were made, also within a millisecond.
 *
 * `SecureRandom` makes them as well, and asks the system for sixteen bytes each time, which takes four times as long as
 * all the rest. Here one draw is enough for many ids, and an id is made without an operation of Effect.
 */
import { Clock, Effect } from "effect"
import { SecureRandom } from "effect/crypto"

import { type RequestId, requestId } from "../../domain/Ids.ts"

/** Bytes of one draw. */
const drawn = 4_096
/** The counter of a millisecond has 12 bits. It begins in their lower half, so that it has room. */
const maxCounter = 0xfff
const maxFirstCounter = 0x7ff

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Bytes that are drawn in advance, and each used once. */
class RandomBytes {
  private readonly draw: () => Uint8Array
  private bytes: Uint8Array = new Uint8Array()
  private at = 0

  constructor(draw: () => Uint8Array) {
    this.draw = draw
  }

  next(): number {
    if (this.at === this.bytes.length) {
      this.bytes = this.draw()
      this.at = 0
    }
    return this.bytes[this.at++] ?? 0
  }

  /** Four hexadecimal digits. */
  hex(): string {
    return `${hexOfByte[this.next()]}${hexOfByte[this.next()]}`
  }
}

/** Yields a function that makes an id. */
export const makeRequestIds: Effect.Effect<() => RequestId, never, SecureRandom.SecureRandom> = Effect.gen(
  function* () {
    const secure = yield* SecureRandom.SecureRandom
    const clock = yield* Clock.Clock
    const runSync = Effect.runSyncWith(yield* Effect.context<never>())
    const random = new RandomBytes(() => runSync(secure.randomBytes(drawn)))
    let millis = 0
    let counter = 0

    /** A clock that stands still or goes back lets the counter go on, and its overflow the time of the ids. */
    const step = (nowMillis: number): void => {
      if (nowMillis <= millis && counter < maxCounter) return void counter++
      millis = Math.max(nowMillis, millis + 1)
      counter = ((random.next() << 8) | random.next()) & maxFirstCounter
    }

    return () => {
      step(clock.currentTimeMillisUnsafe())
      const time = millis.toString(16).padStart(12, "0")
      const variant = hexOfByte[0x80 | (random.next() & 0x3f)]
      const count = counter.toString(16).padStart(3, "0")
      return requestId(
        `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${variant}${hexOfByte[random.next()]}-` +
          `${random.hex()}${random.hex()}${random.hex()}`
      )
    }
  }
)
