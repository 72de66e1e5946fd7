/**
 * What the makers of Bedrock's models accept beyond what Converse unifies, as data. Model ids name the maker
 * (`us.anthropic.claude-…`). The id of a customer's own inference profile does not, so the owner in the catalog counts
 * too.
 */
import type { WireCall } from "../Protocol.ts"
import {
  claudeEffort,
  claudeThinking,
  claudeThinkingParameter,
  controlsThinkingBinding,
  thinkingBindingBeta
} from "../shared/request/ClaudeThinking.ts"
import { type EffortLevel, type Thinking, thinkingOf } from "../shared/request/Thinking.ts"
import type { ClaudeFields, GptFields, GptOssFields, ModelFields, NovaFields } from "./Body.ts"

/** What the models of one maker have in common. */
export interface ModelFamily {
  /** Thinking as a call to these models can have it. */
  readonly thinking: (call: WireCall) => Thinking
  /** The members that ask for that thinking, or `undefined` if there is nothing to ask for. */
  readonly modelFields: (call: WireCall, thinking: Thinking) => ModelFields | undefined
  /** Whether an output limit and sampling may stand beside this thinking. */
  readonly acceptsLimits: (thinking: Thinking) => boolean
  /** The format by which clients know the reasoning details of these models. */
  readonly reasoningFormat: string
  /** The schema of an answer is enforced. */
  readonly jsonSchema: boolean
  /** How long a prefix can be cached; `none`: cache points are refused. */
  readonly caching: "none" | "5m" | "5m or 1h"
  /** Temperature and `topP` may be sent together. */
  readonly temperatureBesideTopP: boolean
}

/** Models that Converse serves and of which nothing more is known. */
const other: ModelFamily = {
  thinking: thinkingOf,
  modelFields: () => undefined,
  acceptsLimits: () => true,
  reasoningFormat: "unknown",
  jsonSchema: false,
  caching: "none",
  temperatureBesideTopP: true
}

const effortOf = (thinking: Thinking): EffortLevel | undefined =>
  thinking.state === "on" ? thinking.effort : undefined

const claude: ModelFamily = {
  thinking: claudeThinking,
  modelFields: (call, thinking): ClaudeFields | undefined => {
    const parameter = claudeThinkingParameter(call, thinking)
    const effort = claudeEffort(thinking)
    if (parameter === undefined && effort === undefined) return undefined
    return {
      thinking: parameter,
      output_config: effort && { effort },
      anthropic_beta: controlsThinkingBinding(call, thinking) ? [thinkingBindingBeta] : undefined
    }
  },
  acceptsLimits: () => true,
  reasoningFormat: "anthropic-claude-v1",
  jsonSchema: true,
  caching: "5m or 1h",
  temperatureBesideTopP: false
}

const nova: ModelFamily = {
  ...other,
  // The client relies on its limit, so the limit is kept and the effort is lowered to one that allows it.
  thinking: (call): Thinking => {
    const thinking = thinkingOf(call)
    return !nova.acceptsLimits(thinking) && call.request.maxOutputTokens !== undefined
      ? { state: "on", effort: "medium" }
      : thinking
  },
  acceptsLimits: (thinking) => effortOf(thinking) !== "high",
  modelFields: (_call, thinking): NovaFields | undefined => {
    if (thinking.state === "unset") return undefined
    if (thinking.state === "off") return { reasoningConfig: { type: "disabled" } }
    return { reasoningConfig: { type: "enabled", maxReasoningEffort: thinking.effort } }
  },
  caching: "5m"
}

const gptOss: ModelFamily = {
  ...other,
  modelFields: (_call, thinking): GptOssFields | undefined => {
    const effort = effortOf(thinking)
    return effort && { reasoning_effort: effort }
  }
}

const gpt: ModelFamily = {
  ...other,
  modelFields: (_call, thinking): GptFields | undefined => {
    const effort = effortOf(thinking)
    return effort && { reasoning: { effort } }
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

/** By the model id, else by the owner in the catalog. */
export const modelFamilyOf = ({ model, upstream }: WireCall): ModelFamily =>
  makers.find(([id]) => id.test(upstream))?.[1] ?? owners.get(model.ownedBy) ?? other
