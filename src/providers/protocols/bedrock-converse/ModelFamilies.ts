/**
 * What the makers of Bedrock's models take beyond what Converse unifies, as data. Model ids name the maker
 * (`us.anthropic.claude-…`); the id of an inference profile of one's own does not, so the catalog's owner counts too.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import {
  thinkingBindingBeta,
  controlsThinkingBinding,
  claudeEffort,
  claudeThinking,
  claudeThinkingFields
} from "../shared/ClaudeThinking.ts"
import { type Thinking, thinkingOf } from "../shared/Thinking.ts"

export interface ModelFamily {
  /** Thinking as a call to these models can have it. */
  readonly thinking: (call: WireCall) => Thinking
  /** How thinking is said, in `additionalModelRequestFields`. */
  readonly thinkingFields: (call: WireCall, thinking: Thinking) => JsonObject
  /** Whether an output limit and sampling may stand beside this thinking. */
  readonly takesLimits: (thinking: Thinking) => boolean
  /** The format that clients know their reasoning details by. */
  readonly reasoningFormat: string
  /** The schema of an answer is enforced. */
  readonly jsonSchema: boolean
  /** How long a prefix can be cached; elsewhere a cache point is refused. */
  readonly caching: "none" | "5m" | "5m or 1h"
  /** Temperature and top_p may be sent together. */
  readonly bothSamplings: boolean
}

/** Models that Converse serves and nothing else is known of. */
const other: ModelFamily = {
  thinking: thinkingOf,
  thinkingFields: () => ({}),
  takesLimits: () => true,
  reasoningFormat: "unknown",
  jsonSchema: false,
  caching: "none",
  bothSamplings: true
}

const effortOf = (thinking: Thinking): string | undefined => (thinking.state === "on" ? thinking.effort : undefined)

const claude: ModelFamily = {
  thinking: claudeThinking,
  thinkingFields: (call, thinking) => {
    const binding = controlsThinkingBinding(call, thinking)
    const effort = claudeEffort(thinking)
    return {
      ...claudeThinkingFields(call, thinking, binding),
      ...(effort && { output_config: { effort } }),
      ...(binding && { anthropic_beta: [thinkingBindingBeta] })
    }
  },
  takesLimits: () => true,
  reasoningFormat: "anthropic-claude-v1",
  jsonSchema: true,
  caching: "5m or 1h",
  bothSamplings: false
}

const nova: ModelFamily = {
  ...other,
  // A limit is a promise to the client, so it comes before the highest effort.
  thinking: (call) => {
    const thinking = thinkingOf(call)
    return !nova.takesLimits(thinking) && call.request.maxOutputTokens !== undefined
      ? { state: "on", effort: "medium" }
      : thinking
  },
  takesLimits: (thinking) => effortOf(thinking) !== "high",
  thinkingFields: (_call, thinking) => {
    if (thinking.state === "unset") return {}
    if (thinking.state === "off") return { reasoningConfig: { type: "disabled" } }
    const { effort } = thinking
    return { reasoningConfig: { type: "enabled", ...(effort && { maxReasoningEffort: effort }) } }
  },
  caching: "5m"
}

const gptOss: ModelFamily = {
  ...other,
  thinkingFields: (_call, thinking) => {
    const effort = effortOf(thinking)
    return effort === undefined ? {} : { reasoning_effort: effort }
  }
}

const gpt: ModelFamily = {
  ...other,
  thinkingFields: (_call, thinking) => {
    const effort = effortOf(thinking)
    return effort === undefined ? {} : { reasoning: { effort } }
  }
}

const makers: ReadonlyArray<readonly [id: RegExp, family: ModelFamily]> = [
  [/(?:^|[./])anthropic\./, claude],
  [/(?:^|[./])amazon\.nova-/, nova],
  [/(?:^|[./])openai\.gpt-oss-/, gptOss],
  [/(?:^|[./])openai\./, gpt]
]
const owners: ReadonlyMap<string, ModelFamily> = new Map([
  ["anthropic", claude],
  ["amazon", nova]
])

export const modelFamilyOf = ({ model, upstream }: WireCall): ModelFamily =>
  makers.find(([id]) => id.test(upstream))?.[1] ?? owners.get(model.ownedBy) ?? other
