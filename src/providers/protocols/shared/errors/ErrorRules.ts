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
  /** The statuses that say more than the text does. */
  readonly exceptAt?: ReadonlyArray<number>
}

/** The statuses with which providers report trouble with an account. */
const accountStatuses = [400, 401, 402, 403, 412, 429]

/** Statuses that speak of the account or of its rate, and never of what the request asks for. */
const accountOrRate = [401, 402, 403, 429]

/** One pattern that matches what any of these match, in upper and lower case. */
const anyOf = (...patterns: ReadonlyArray<RegExp>): RegExp =>
  new RegExp(patterns.map((pattern) => pattern.source).join("|"), "i")

/** Texts that say more than the code beside them. They decide before any code does. */
export const decisiveTextRules: ReadonlyArray<TextRule> = [
  // A single request beyond the limit of a minute. Its code is that of a rate limit, but no wait makes it fit.
  { pattern: /request too large .{0,200}tokens per min/i, kind: "ContextTooLong" },
  // Alibaba's limit of tokens a minute, with the code of an account without quota.
  { pattern: /allocated quota exceeded/i, kind: "rate_limited", statuses: [429] },
  // The codes of these are those of an unknown model or of a value that nobody may send.
  { pattern: /organization must be verified/i, kind: "Credentials" }
]

/** The first rule that matches decides. */
export const textRules: ReadonlyArray<TextRule> = [
  {
    pattern: anyOf(
      /exceeded your current quota|quota exceeded|out of budget|usage limit reached|spend(?:ing)? limit/,
      /insufficient[ _](?:quota|balance|credits?|funds)|(?:run out of|used all available) credits/,
      /reached your (?:\w+ ){0,3}(?:usage|spending) limits?/
    ),
    kind: "Credentials",
    statuses: [402, 403, 412, 429]
  },
  {
    pattern: anyOf(
      /credit balance is too low|reached your specified api usage limits/,
      /(?:account|organization|project) .{0,80}(?:is|has been) (?:deactivated|disabled|suspended|restricted)/,
      /account is not active|access was terminated|credential is only authorized/
    ),
    kind: "Credentials",
    statuses: accountStatuses
  },
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
      /context[ _](?:window|length|limit)|maximum context|maximum prompt length|longer than the model's context/,
      /prompt (?:is )?too long|prompt exceeds max|input is too long|range of input length/,
      /input tokens exceed|number of input tokens|too many input tokens|input length exceeds|context size/,
      /exceeds? the maximum number of tokens|exceeded model token limit|exceeds the available context size/,
      /reduce the length of the (?:messages|input|prompt)|too large for model with|token limit exceeded/,
      /too many tokens|`inputs` .{0,60}must (?:be|have) (?:<=?|less than)|audio duration .{0,60}longer than/
    ),
    kind: "ContextTooLong",
    exceptAt: accountOrRate
  },
  {
    pattern: anyOf(
      /safety_check_type_|content management policy|content filtering policy|considered high risk/,
      /(?:inappropriate|sensitive) content|data ?inspection ?failed/
    ),
    kind: "Refused",
    exceptAt: [401, 402, 429]
  },
  {
    pattern: anyOf(
      /model identifier|not a valid model|invalid model|unknown model|no such model|model .{0,40}is not available/,
      /models?\b.{0,200}(?:does not exist|doesn't exist|not found)|not found the model/,
      /do(?:es)? not have access to|don't have access to the model/
    ),
    kind: "Missing",
    exceptAt: [401, 402, 429]
  },
  {
    pattern: anyOf(
      /(?:not|isn't|isn’t|aren't) (?:currently |yet )?(?:supported|enabled for|available for)|unsupported\b/,
      /(?:does not|doesn't|doesn’t|do not|don't) (?:currently |yet )?support|no longer supported/,
      /encrypted content .{0,200}could not be (?:verified|decrypted)|deprecated for this model/,
      /cannot both be specified|cannot be (?:used|combined|specified) (?:together |along )?with|incompatible with/,
      /content blocks are expected to be either|tool choice requires|requires --\w/,
      /max_tokens.{0,40}(?:too large|> \d)|maximum (?:allowed )?(?:number of )?(?:output )?tokens .{0,60}exceed/,
      /(?:grammar|schema) .{0,40}too (?:large|complex)|too many states for serving|payload size exceeds/,
      // Servers say this of files that are no audio, but also of long files and of codecs that other models take.
      /audio (?:file|input) (?:might be corrupted|could not be decoded)/
    ),
    kind: "Unsupported",
    exceptAt: accountOrRate
  },
  {
    pattern: anyOf(
      /overloaded|server[_ ]busy|experiencing high (?:demand|traffic|load)|loading model|please retry your request/,
      /service tier capacity exceeded|model is (?:at capacity|currently loading)|too busy/,
      /service (?:is )?(?:temporarily )?unavailable/
    ),
    kind: "overloaded",
    exceptAt: accountOrRate
  },
  {
    pattern: anyOf(
      /provider returned error|upstream (?:request failed|connect)|internal (?:server )?error/,
      /reset before headers|socket hang up|other side closed|fetch failed|stream ended before/
    ),
    kind: "server",
    exceptAt: accountOrRate
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
