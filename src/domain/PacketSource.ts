/**
 * Something that arrives packet by packet, such as a streamed answer. It is read without waiting: what a layer makes of
 * a packet is a plain function, so that a packet goes from the provider's bytes to the client's in one synchronous
 * pass. Whoever does not read holds the provider up, and nothing is buffered without a limit.
 */
import { Effect } from "effect"

/** `Last` is how it ended: a value, or an effect that has to be run once. */
export interface PacketSource<A, Last> {
  /** What has arrived since it was last read, never nothing; `undefined` while nothing is there. */
  readonly read: () => ReadonlyArray<A> | "over" | undefined
  /**
   * Calls `ready` once, as soon as there is something to read. To be called when `read` gave `undefined`; another call
   * before then replaces the function.
   */
  readonly whenReady: (ready: () => void) => void
  /** To be called once, after `read` has said that it is over. */
  readonly end: () => Last
}

/** Waits until there is something to read. */
export const untilReady = (source: Pick<PacketSource<unknown, unknown>, "whenReady">): Effect.Effect<void> =>
  Effect.callback((resume) => source.whenReady(() => resume(Effect.void)))

/** One packet that is there already. */
export const onePacket = <A, Last>(packet: ReadonlyArray<A>, end: () => Last): PacketSource<A, Last> => {
  let isRead = packet.length === 0
  return {
    read: () => {
      if (isRead) return "over"
      isRead = true
      return packet
    },
    whenReady: (ready) => ready(),
    end
  }
}

/** The same, with `first` before it. */
export const prepended = <A, Last>(first: ReadonlyArray<A>, rest: PacketSource<A, Last>): PacketSource<A, Last> => {
  let isRead = first.length === 0
  return {
    ...rest,
    read: () => {
      if (isRead) return rest.read()
      isRead = true
      return first
    }
  }
}
