/**
 * What the gateway adds to a request although nobody asked for it, because it helps wherever it is allowed: summaries
 * of reasoning, keys and lifetimes for prompt caches, and the like. Some accounts and models may not have them; OpenAI
 * gives summaries and some streams only to organizations that it has verified. That is never the client's fault, so
 * the call is repeated without the extra that was refused.
 */
import type { Failure } from "../../../../domain/Failure.ts"
import { asObject, type Fields } from "../Field.ts"

interface ExtraRule {
  /** Where it stands in the body. */
  readonly path: readonly [string] | readonly [string, string]
  /** How a provider names it in the text of a refusal. The member that an error names is compared with the path. */
  readonly text: RegExp
  /** Whether a refusal holds for the account, with all its models, or for the one endpoint. */
  readonly scope: "account" | "endpoint"
}

const extras = {
  "reasoning summary": {
    path: ["reasoning", "summary"],
    text: /reasoning[ ._]summar/i,
    scope: "account"
  },
  // A stream that was refused is asked for as a plain answer.
  stream: { path: ["stream"], text: /verified to stream|stream(?:ing)? .{0,40}verif/i, scope: "endpoint" },
  "encrypted reasoning": {
    path: ["include"],
    text: /reasoning\.encrypted_content|encrypted content is not supported/i,
    scope: "endpoint"
  },
  "no storage": {
    path: ["store"],
    text: /['"`.]store['"`:]|(?:supplied|parameter|argument): store\b/i,
    scope: "account"
  },
  "cache key": { path: ["prompt_cache_key"], text: /\bprompt_cache_key\b/i, scope: "account" },
  "cache retention": {
    path: ["prompt_cache_retention"],
    text: /\bprompt_cache_retention\b/i,
    scope: "endpoint"
  },
  "cache affinity": { path: ["session_id"], text: /\bsession_id\b/i, scope: "account" },
  "stream usage": { path: ["stream_options"], text: /\bstream_options\b|\binclude_usage\b/i, scope: "account" },
  "streamed tool arguments": { path: ["tool_stream"], text: /\btool_stream\b/i, scope: "endpoint" },
  "thinking binding": { path: ["thinking", "block_binding"], text: /\bblock_binding\b/i, scope: "endpoint" },
  "thinking display": { path: ["thinking", "display"], text: /\bthinking\.(?:\w+\.)?display\b/i, scope: "endpoint" }
} as const satisfies { readonly [name: string]: ExtraRule }

export type OptionalExtra = keyof typeof extras

/** The names with their rules; `Object.entries` widens the keys of a record that is declared with exactly these. */
const rules = Object.entries(extras) as ReadonlyArray<readonly [OptionalExtra, ExtraRule]>

export const scopeOfExtra = (name: OptionalExtra): ExtraRule["scope"] => extras[name].scope

/** Statuses with which providers refuse a member of the body. */
const refusingStatuses: ReadonlySet<number | undefined> = new Set([400, 401, 403, 404, 422])

/** The extra in this body that the failure is about, if it is about one. */
export const refusedExtra = (failure: Failure, body: object): OptionalExtra | undefined => {
  if (failure.reason._tag === "Transient" || !refusingStatuses.has(failure.status)) return undefined
  return rules.find(
    ([, { path, text }]) => isSent(body, path) && (failure.parameter === path.join(".") || text.test(failure.message))
  )?.[0]
}

const isSent = (body: object, [first, second]: ExtraRule["path"]): boolean => {
  const fields: Fields = { ...body }
  const value = second === undefined ? fields[first] : asObject(fields[first])?.[second]
  return value !== undefined && !(first === "stream" && value === false)
}

/** The same body without these extras. A stream that was refused is left: another call asks for a plain answer. */
export const withoutExtras = (body: object, names: Iterable<OptionalExtra>): object => {
  const kept: Record<string, unknown> = { ...body }
  for (const name of names) {
    const [first, second]: ExtraRule["path"] = extras[name].path
    if (second !== undefined) kept[first] = withoutMember(asObject(kept[first]), second)
    else if (name !== "stream") delete kept[first]
  }
  return kept
}

/** An object in which nothing is left is not sent. */
const withoutMember = (fields: Fields | undefined, name: string): Fields | undefined => {
  const rest = Object.entries(fields ?? {}).filter(([key, value]) => key !== name && value !== undefined)
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}
