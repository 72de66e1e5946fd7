/** Stable ids made from text. The sandbox has no randomness, so that the same request gets the same answer. */
import { Hash } from "effect"

const charactersPerHash = 6

/** `length` lower-case letters and digits that depend on `text` alone. */
export const sandboxDigest = (text: string, length: number): string =>
  Array.from({ length: Math.ceil(length / charactersPerHash) }, (_, salt) =>
    (Hash.string(`${salt}:${text}`) >>> 0).toString(36).padStart(charactersPerHash, "0").slice(-charactersPerHash)
  )
    .join("")
    .slice(0, length)

/** The signature of a block of thinking, which depends on its text alone: a change of any letter makes it invalid. */
export const thinkingSignature = (thinking: string): string => `sandbox-${sandboxDigest(thinking, 48)}`
