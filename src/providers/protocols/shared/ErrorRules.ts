/**
 * What the text and the HTTP status of an error mean, for all providers. A text that a client could have put into its
 * own request (a tool named `billing`) must not decide alone: the rule of such a text names the statuses it counts for.
 */
import type { FailureKind } from "./FailureKind.ts"

export interface TextRule {
  readonly pattern: RegExp
  readonly kind: FailureKind
  /** The statuses the rule is limited to. An error inside a success has no status, and every rule applies to it. */
  readonly statuses?: ReadonlyArray<number>
}

/** The statuses with which providers report trouble with an account. */
const accountStatuses = [400, 401, 402, 403, 429]

/** One pattern that matches what any of these match, in upper and lower case. */
const anyOf = (...patterns: ReadonlyArray<RegExp>): RegExp =>
  new RegExp(patterns.map((pattern) => pattern.source).join("|"), "i")

/** The first rule that matches decides. */
export const textRules: ReadonlyArray<TextRule> = [
  { pattern: /request too large .{0,200}tokens per min/i, kind: "ContextTooLong" },
  {
    pattern: anyOf(
      /exceeded your current quota|quota exceeded|out of budget|usage limit reached|spend(?:ing)? limit/,
      /insufficient[ _](?:quota|balance|credits?|funds)/
    ),
    kind: "Credentials",
    statuses: [402, 403, 429]
  },
  { pattern: /credit balance is too low/i, kind: "Credentials" },
  {
    pattern: anyOf(
      /(?:incorrect|invalid|missing|no) (?:x-)?(?:api[ -]?key|authentication)/,
      /api[ -]?key .{0,60}(?:invalid|not valid|expired)/
    ),
    kind: "Credentials",
    statuses: accountStatuses
  },
  { pattern: /^throttling|too many requests|rate limit/i, kind: "rate_limited", statuses: [400, 424, 429] },
  { pattern: /too many tokens, please wait/i, kind: "rate_limited" },
  {
    pattern: anyOf(
      /context[ _](?:window|length)|maximum context|maximum prompt length|longer than the model's context/,
      /prompt (?:is )?too long|prompt exceeds max|input is too long|range of input length/,
      /exceeds the maximum number of tokens|exceeded model token limit|exceeds the available context size/,
      /reduce the length of the messages|too large for model with|token limit exceeded|too many tokens/,
      /audio duration .{0,60}longer than/
    ),
    kind: "ContextTooLong"
  },
  { pattern: /safety_check_type_|content management policy|content filtering policy/i, kind: "Refused" },
  {
    pattern: anyOf(
      /with reasoning_effort are not supported|does not support effort level/,
      /encrypted content .{0,200}could not be (?:verified|decrypted)/,
      /thinking\.type\.\w+.{0,5} is not supported/,
      /content blocks are expected to be either|not supported (?:with|for|by) this model/,
      /model .{0,200}(?:does not exist|not found|does not support)|do not have access to/,
      // Servers say this of files that are no audio, but also of long files and of codecs that other models take.
      /audio (?:file|input) (?:might be corrupted|could not be decoded)/
    ),
    kind: "Unsupported"
  },
  {
    pattern: anyOf(
      /overloaded|server[_ ]busy|experiencing high demand|loading model|please retry your request/,
      /service tier capacity exceeded|model is at capacity|service (?:is )?(?:temporarily )?unavailable/
    ),
    kind: "overloaded"
  },
  {
    pattern: anyOf(
      /provider returned error|upstream (?:request failed|connect)|internal (?:server )?error/,
      /reset before headers|socket hang up|other side closed|fetch failed|stream ended before/
    ),
    kind: "server"
  }
]

/** By HTTP status, where neither a code nor a text decides. Statuses from 500 that are not listed are `server`. */
export const statusKinds: { readonly [status: number]: FailureKind } = {
  400: "Invalid",
  401: "Credentials",
  402: "Credentials",
  403: "Credentials",
  404: "Unsupported",
  405: "Unsupported",
  408: "timeout",
  409: "server",
  410: "Unsupported",
  412: "server",
  413: "ContextTooLong",
  415: "Unsupported",
  422: "Invalid",
  424: "overloaded",
  425: "server",
  429: "rate_limited",
  498: "overloaded",
  499: "network",
  503: "overloaded",
  504: "timeout",
  524: "timeout",
  529: "overloaded"
}
