/**
 * Ids of tool calls in the form a provider accepts. A conversation may move between providers, so an id that one of
 * them made can be too long for another or hold characters that it refuses. Within a request the same id always becomes
 * the same wire id, which keeps calls and results together and leaves the cached prefix unchanged.
 */
import { createHash, type Hash } from "node:crypto"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** A digest of `text` in `length` letters and digits; `length` is at most 32. */
export const digest = (text: string, length: number): string => inBase62(createHash("sha256").update(text), length)

const inBase62 = (hashed: Hash, length: number): string =>
  Array.from(hashed.digest().subarray(0, length), (byte) => base62[byte % 62]).join("")

/**
 * The digest of the text up to each of `ends`. The text is read once, however many ends there are; those beyond it have
 * no digest, and neither have those between the halves of a character.
 */
export const prefixDigests = (
  text: string,
  ends: ReadonlyArray<number>,
  length: number
): ReadonlyMap<number, string> => {
  const digests = new Map<number, string>()
  const hashed = createHash("sha256")
  let read = 0
  for (const end of [...new Set(ends)].sort((a, b) => a - b)) {
    if (end > text.length || (end > 0 && (text.codePointAt(end - 1) ?? 0) > 0xffff)) continue
    hashed.update(text.slice(read, end))
    read = end
    digests.set(end, inBase62(hashed.copy(), length))
  }
  return digests
}

interface IdRule {
  readonly accepts: RegExp
  /** `attempt` counts up from 0 for as long as another id has the result already. */
  readonly rewrite: (id: string, attempt: number) => string
}

/** Which ids a provider accepts, and what becomes of the others. */
const idRules = {
  /** OpenAI: at most 40 characters. */
  short: { accepts: /^[^]{1,40}$/, rewrite: (id, attempt) => `call_${digest(`${attempt}${id}`, 24)}` },
  /** Mistral: exactly nine letters or digits. */
  nine: { accepts: /^[a-zA-Z0-9]{9}$/, rewrite: (id, attempt) => digest(`${attempt}${id}`, 9) },
  /** Anthropic, Bedrock and the Responses API: at most 64 letters, digits, underscores and hyphens. */
  plain: {
    accepts: /^[a-zA-Z0-9_-]{1,64}$/,
    rewrite: (id, attempt) =>
      attempt === 0 && id !== ""
        ? id.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64)
        : `call_${digest(`${attempt}${id}`, 24)}`
  }
} as const satisfies Record<string, IdRule>
export type IdRuleName = keyof typeof idRules

/** Translates the tool call ids of one request. The function remembers the ids it has given out. */
export const wireIds = (name: IdRuleName): ((id: string) => string) => {
  const rule: IdRule = idRules[name]
  const given = new Map<string, string>()
  const taken = new Set<string>()
  return (id) => {
    const known = given.get(id)
    if (known !== undefined) return known
    let wire = id
    for (let attempt = 0; !rule.accepts.test(wire) || taken.has(wire); attempt++) wire = rule.rewrite(id, attempt)
    given.set(id, wire)
    taken.add(wire)
    return wire
  }
}
