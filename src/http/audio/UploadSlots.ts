/**
 * Shares the memory for uploads between organizations. Each file in memory occupies one of a fixed number of slots. The
 * rules keep one organization, however many clients it has, from shutting out another, and still let it use nearly all
 * of an idle gateway:
 *
 * - an organization that has no slot gets any that is free;
 * - one that has slots gets another as long as the last few (one in eight, at least one) stay free for others;
 * - whoever gets none waits for a moment. A slot that becomes free goes to the organization with the fewest slots, and
 *   among equals to the one that was served the longest time ago.
 *
 * An organization may have as many uploads waiting as there are slots, so the queue is bounded as well.
 */
import { Duration, Effect } from "effect"

import { RateLimitExceeded } from "../../api/Errors.ts"
import type { OrganizationId } from "../../domain/Ids.ts"

export interface UploadSlots {
  /**
   * Runs an effect in a slot of this organization, and frees the slot when it ends, however it ends. Fails without
   * running it when the organization has too many uploads waiting, or when none of the slots becomes free for it.
   */
  readonly withSlot: <A, E, R>(
    organization: OrganizationId,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | RateLimitExceeded, R>
  /** How many uploads are in slots. */
  readonly occupied: () => number
  /** How many uploads wait for a slot. */
  readonly waiting: () => number
  /** How many organizations have slots or wait for one. */
  readonly organizations: () => number
}

/** How long an upload may wait for a slot: long enough to outlast a burst, and short beside the timeouts of clients. */
export const maxSlotWait = Duration.seconds(10)

/** How many slots an organization that has some must leave free for those that have none. A single slot is for all. */
export const reservedSlots = (slots: number): number => Math.min(Math.ceil(slots / 8), slots - 1)

/** The slots and the queue of one organization, which is forgotten when both are empty. */
interface Share {
  held: number
  /** In the order of arrival. */
  readonly waiting: Set<Place>
  /** When it was last given a slot, or else arrived, in an order common to all. */
  servedAt: number
}

/** One upload, from its arrival until it ends. */
interface Place {
  readonly share: Share
  readonly organization: OrganizationId
  state: "waiting" | "granted" | "refused"
  /** Continues an upload that waits. */
  resume: () => void
}

/** Makes slots that are all free. */
export const makeUploadSlots = (slots: number): UploadSlots => {
  const shares = new Map<OrganizationId, Share>()
  const reserved = reservedSlots(slots)
  let free = slots
  let now = 0

  const mayTake = ({ held }: Share): boolean => free > (held === 0 ? 0 : reserved)

  const shareOf = (organization: OrganizationId): Share => {
    const known = shares.get(organization)
    if (known !== undefined) return known
    const share: Share = { held: 0, waiting: new Set(), servedAt: ++now }
    shares.set(organization, share)
    return share
  }

  /** The continued upload may end before this returns, and so call `leave`. */
  const grant = (place: Place): void => {
    free--
    place.share.held++
    place.share.servedAt = ++now
    place.share.waiting.delete(place)
    place.state = "granted"
    place.resume()
  }

  const enter = (organization: OrganizationId): Place => {
    const share = shareOf(organization)
    const place: Place = { share, organization, state: "waiting", resume: () => {} }
    // Nobody who may have this slot waits for it, or it would not be free.
    if (mayTake(share)) grant(place)
    else if (share.waiting.size < slots) share.waiting.add(place)
    else place.state = "refused"
    return place
  }

  const nextPlace = (): Place | undefined => {
    const eligible = [...shares.values()].filter((share) => share.waiting.size > 0 && mayTake(share))
    const [next] = eligible.sort((a, b) => a.held - b.held || a.servedAt - b.servedAt)
    return next?.waiting.values().next().value
  }

  const leave = (place: Place): void => {
    const { organization, share } = place
    share.waiting.delete(place)
    if (place.state === "granted") {
      share.held--
      free++
    }
    if (share.held === 0 && share.waiting.size === 0) shares.delete(organization)
    for (let next = nextPlace(); next !== undefined; next = nextPlace()) grant(next)
  }

  return {
    withSlot: (organization, effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => enter(organization)),
        (place) => Effect.andThen(granted(place), effect),
        (place) => Effect.sync(() => leave(place))
      ),
    occupied: () => slots - free,
    waiting: () => [...shares.values()].reduce((sum, { waiting }) => sum + waiting.size, 0),
    organizations: () => shares.size
  }
}

/** Waits until the upload has a slot, for a limited time. */
const granted = (place: Place): Effect.Effect<void, RateLimitExceeded> => {
  if (place.state === "granted") return Effect.void
  if (place.state === "refused") return Effect.fail(tooManyUploads())
  const turn = Effect.callback<void>((resume) => {
    place.resume = () => resume(Effect.void)
    if (place.state === "granted") place.resume()
  })
  return Effect.flatMap(Effect.timeoutOption(turn, maxSlotWait), () =>
    // The slot may have come at the very end of the wait.
    Effect.suspend(() => (place.state === "granted" ? Effect.void : Effect.fail(tooManyUploads())))
  )
}

const tooManyUploads = () =>
  RateLimitExceeded.of("Too many files are being transcribed at the moment; try again", Duration.seconds(1))
