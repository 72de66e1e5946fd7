/** Stable names made of text. The sandbox has no randomness, so the same request gets the same answer. */
import { Hash } from "effect"

const charactersPerHash = 6

/** `length` letters and digits that depend on `text` alone. */
export const sandboxDigest = (text: string, length: number): string =>
  Array.from({ length: Math.ceil(length / charactersPerHash) }, (_, salt) =>
    (Hash.string(`${salt}:${text}`) >>> 0).toString(36).padStart(charactersPerHash, "0").slice(-charactersPerHash)
  )
    .join("")
    .slice(0, length)
