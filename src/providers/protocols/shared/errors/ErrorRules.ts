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
  /** The statuses that mean more than the text does. */
  readonly exceptAt?: ReadonlyArray<number>
}

/** The statuses with which providers report trouble with an account. */
const accountStatuses = [400, 401, 402, 403, 412, 429]

/** Statuses that speak of the account or of its rate, and never of what the request asks for. */
const accountOrRate = [401, 402, 403, 429]

/** One pattern that matches what any of these match, in upper and lower case. */
const anyOf = (...patterns: ReadonlyArray<RegExp>): RegExp =>
  new RegExp(patterns.map((pattern) => pattern.source).join("|"), "i")

/** Texts that mean more than the code beside them. They decide before any code does. */
export const decisiveTextRules: ReadonlyArray<TextRule> = [
  // A single request beyond the limit of a minute. Its code is that of a rate limit, but no wait makes it fit.
  { pattern: /request too large .{0,200}tokens per min/i, kind: "ContextTooLong" },
  // Groq's limit of the output, which it explains by the context window.
  { pattern: /max_completion_tokens` must be less than or equal/i, kind: "Unsupported", statuses: [400] },
  // Together refuses a prompt that is too long with the status of a refused account.
  { pattern: /\btokens\b.{0,120}\bcontext (?:length|window)/i, kind: "ContextTooLong", statuses: [403] },
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
      /reached your (?:[\w-]+ ){0,3}(?:usage|spending) limits?|(?:quota|tier).{0,40} exhausted|quota is not enough/,
      /exceeded (?:your|the|today's) (?:[\w-]+ ){0,3}quota|balance is (?:insufficient|used up)|no credits|用量上限/
    ),
    kind: "Credentials",
    statuses: [402, 403, 412, 429]
  },
  {
    pattern: anyOf(
      /credit balance is too low|reached your specified api usage limits/,
      /(?:account|organization|project) .{0,80}(?:is|has been) (?:deactivated|disabled|suspended|restricted)/,
      /account is not active|access was terminated|credential is only authorized|budget has been exceeded/,
      /account balance is insufficient|insufficient credits|account (?:is )?overdue/,
      /余额不足|额度不足|额度已用尽|欠费|账户已被锁定/
    ),
    kind: "Credentials",
    statuses: accountStatuses
  },
  {
    pattern: anyOf(
      /(?:incorrect|invalid|missing|no) (?:x-)?(?:api[ -]?key|authentication)/,
      /api[ -]?key .{0,60}(?:invalid|not valid|not found|expired|suspended|disabled)|无效的(?:令牌|密钥)|身份验证失败/
    ),
    kind: "Credentials",
    statuses: accountStatuses
  },
  {
    pattern: /^throttling|too many requests|rate limit|速率限制|频率过高|请求过于频繁/i,
    kind: "rate_limited",
    statuses: [400, 424, 429]
  },
  { pattern: /too many tokens, please wait/i, kind: "rate_limited" },
  { pattern: /see 'failed_generation' for/i, kind: "broken" },
  {
    pattern: anyOf(
      /context[ _](?:window|length|limit)|maximum context|maximum prompt length|longer than the model's context/,
      /prompt (?:is )?too long|prompt exceeds max|input is too long|range of input length/,
      /input tokens exceed|number of input tokens|too many input tokens|input length exceeds|context size/,
      /exceeds? the maximum number of tokens|exceeded model token limit|exceeds the available context size/,
      /reduce the length of the (?:messages|input|prompt)|too large for model with|token limit exceeded/,
      /too many tokens|`inputs` .{0,60}must (?:be|have) (?:<=?|less than)|audio duration .{0,60}longer than/,
      /longer than the maximum model length|maximum allowed input length|length of all messages is too long/,
      /message larger than max|prompt ?超长|超[出过].{0,12}(?:长度|上下文)/
    ),
    kind: "ContextTooLong",
    exceptAt: accountOrRate
  },
  {
    pattern: anyOf(
      /safety_check_type_|content management policy|content filtering policy|considered high risk/,
      /(?:inappropriate|sensitive) content|data ?inspection ?failed|content exists risk|sensitive words/,
      /prohibited content|flagged for possible|content violates|violation of provider terms|违规|敏感(?:内容|词|信息)/
    ),
    kind: "Refused",
    exceptAt: [401, 402, 429]
  },
  {
    pattern: anyOf(
      /model identifier|not a valid model|invalid model|unknown model|no such model|model .{0,40}is not available/,
      /models?\b.{0,200}(?:does not exist|doesn't exist|not exist\b|not found)|not found the model/,
      /(?:model|version) .{0,80}(?:end of (?:its )?life|no longer available)|no longer available as/,
      /no endpoints found for|no (?:available channels?|channel available) for model|incorrect model id/,
      /model is not (?:available|valid)|has no provider supported|not supported by any configured|模型不存在|无可用渠道/,
      /do(?:es)? not have access to|don't have access to the model/
    ),
    kind: "Missing",
    exceptAt: [401, 402, 429]
  },
  {
    // What every server of the kind insists on, although the names of features occur in it.
    pattern: anyOf(
      /must contain the word|must be (?:followed by tool messages|a response to a prece+ding)|names must be unique/,
      /json schema is invalid|invalid schema for function|field required|missing required/
    ),
    kind: "Invalid",
    statuses: [400, 422]
  },
  {
    pattern: anyOf(
      /(?:not|isn't|isn’t|aren't) (?:currently |yet )?(?:supported|enabled for|available for)|unsupported\b/,
      /(?:unexpected endpoint or method|vision add-on is not loaded|missing data required for image)/,
      /not a vlm\b|text-only|endpoint \S+ not provided|invalid image detail|不支持|取值范围/,
      /(?:does not|doesn't|doesn’t|do not|don't) (?:currently |yet )?support|no longer supported/,
      /encrypted content .{0,200}could not be (?:verified|decrypted)|deprecated for this model/,
      /cannot both be specified|cannot be (?:used|combined|specified) (?:together |along )?with|incompatible with/,
      /content blocks are expected to be either|tool choice requires|requires --\w/,
      /max_tokens.{0,40}(?:too large|> \d)|maximum (?:allowed )?(?:number of )?(?:output )?tokens .{0,60}exceed/,
      /(?:grammar|schema) .{0,40}too (?:large|complex)|too many states for serving|payload size exceeds/,
      // Servers answer this to files that are no audio, but also of long files and of codecs that other models take.
      /audio (?:file|input) (?:might be corrupted|could not be decoded)/
    ),
    kind: "Unsupported",
    exceptAt: accountOrRate
  },
  {
    pattern: anyOf(
      /overloaded|server[_ ]busy|experiencing high (?:demand|traffic|load)|loading model|please retry your request/,
      /service tier capacity exceeded|model is (?:at capacity|currently loading)|too busy/,
      /service (?:is )?unavailable|temporarily unavailable|cooling down|暂时不可用/,
      /负载已饱和|访问量过大|系统繁忙|服务繁忙/
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
  },
  {
    // Where the request went to a server that knows no such field, value or number of things, another may.
    pattern: anyOf(
      /(?:is|are) not (?:permitted|allowed)|fields not permitted|extra_forbidden|cannot find field/,
      /(?:unknown|unrecognized) (?:request )?(?:argument|field|key|name|parameter|variant)|supported values/,
      /(?:for|with|on|by) this model\b|this model (?:only|requires)|only supports?\b|(?:are|is) supported only/,
      /(?:is|are) only (?:supported|available|allowed)|only .{1,60} (?:are|is) (?:supported|allowed)|for only\b/,
      /at most \d+ (?:image|audio|video|tool)|too many (?:images|tools|functions|optional parameters)/,
      /maximum number of (?:images|items|tools|functions)|'\/[\w/]*': got\b|image.{0,80} exceeds/,
      /not a multimodal model/,
      /cannot (?:specify|set) both|enabled only for|is unavailable now|must be one of the following/
    ),
    kind: "Unsupported",
    statuses: [400, 404, 422]
  }
]

/**
 * Names of parameters that not every endpoint has, or takes with every value. The gateway has checked the parameters of
 * a request itself, so a provider that objects to one of them refuses what this model or server cannot do, in whatever
 * words, and another target may do it.
 */
const parameterNames = anyOf(
  /\b(?:reasoning|thinking|effort\b|verbosity|temperature|top_?[kp]\b|min_p\b|seed\b|top_?logprobs|logit_?bias)/,
  /_thinking\b|\b(?:frequency|presence)_?penalty|\bstop_?sequences?\b|\bmax_?(?:completion_|new_|output_?)?tokens\b/,
  /\btool_?choice|\bparallel_tool_calls|\btool names?\b|\bfunction_?declarations?|\bfunction parameters\b/,
  /\b(?:response|output)_?(?:config|format|mime|schema)|\bjson_(?:object|schema)|_schema\b/,
  /\bjson mode|flavored json schema|\bschema type\b|'parameters' schema|\binputschema\b/,
  /\bparameter type\b|\bparameters\.properties|\bproperties' is missing|\bcache_?(?:control|point)|\bprompt_cache/,
  /\bservice_tier|\bstream_options|\b(?:non-)?stream(?:ing)? (?:calls|mode|=|parameter)|\bmaxoutputtokens\b/
)

/** Members of a request that a provider names as the parameter at fault, and whose names are common words. */
const parameters = /^(?:audio|include|metadata|modalities|prediction|seed|stop|store|stream|text|user)\b/

/** True for an error about a parameter that the gateway has found to be valid. */
export const concernsParameter = (message: string, parameter: string | undefined): boolean =>
  parameterNames.test(message) ||
  (parameter !== undefined && (parameters.test(parameter) || parameterNames.test(parameter)))

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
  501: "Unsupported",
  503: "overloaded",
  504: "timeout",
  524: "timeout",
  529: "overloaded"
}
