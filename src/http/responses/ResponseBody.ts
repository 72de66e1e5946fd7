/** The response object: what a plain answer is, and what the first and the last events of a stream hold. */
import type { ErrorCode } from "../../api/ErrorTable.ts"
import type { ResponsesObject, ResponsesUsage } from "../../api/ResponsesAnswer.ts"
import type { FinishReason } from "../../domain/Completion.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { toUsdNumber } from "../../domain/Money.ts"
import { cacheWriteTokens, promptTokens, totalTokens } from "../../domain/Usage.ts"
import type { ChargedUsage } from "../../gateway/Charging.ts"
import type { LastItem } from "../../gateway/Settlement.ts"
import { adjustedBody, routingBody } from "../completion/AnswerMembers.ts"
import type { Envelope, StreamHead } from "../completion/ClientProtocol.ts"
import type { RepeatedMembers } from "./ResponsesAsked.ts"

/** The `id` of the answer, as the client sees it. */
export const responseId = (id: RequestId): string => `resp_${id}`

/** Unique among all items of all answers. At most 64 characters, which is what other servers accept. */
export const itemIdOf =
  (id: RequestId) =>
  (prefix: string, index: number): string =>
    `${prefix}_${id}_${index}`

/** What is known from the beginning, and what is asked for. */
export const headMembers = (envelope: Envelope, model: string) => ({
  id: responseId(envelope.id),
  object: "response" as const,
  created_at: envelope.createdSeconds,
  model
})

/** Where the request went; the name of the member is that of the service. */
export const metadataMembers = (
  envelope: Envelope,
  answer: Pick<StreamHead, "routing" | "adjustments" | "dropped">
) => ({ [envelope.serviceName]: { ...routingBody(answer.routing), ...adjustedBody(answer) } })

/** What changes while the response is made. */
export type VaryingMembers = Pick<ResponsesObject, "status" | "error" | "incomplete_details" | "output" | "usage">

export const begunMembers: VaryingMembers = {
  status: "in_progress",
  error: null,
  incomplete_details: null,
  output: [],
  usage: null
}

const incompleteReasons: { readonly [Reason in FinishReason]?: "max_output_tokens" | "content_filter" } = {
  length: "max_output_tokens",
  content_filter: "content_filter"
}

/** True where the model was cut off. */
export const isCut = (reason: FinishReason): boolean => incompleteReasons[reason] !== undefined

/** Of an answer that has been charged. */
export const settledMembers = (
  settled: ChargedUsage & { readonly finishReason: FinishReason },
  output: ResponsesObject["output"]
): VaryingMembers => {
  const reason = incompleteReasons[settled.finishReason]
  return {
    status: reason === undefined ? "completed" : "incomplete",
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usageBody(settled)
  }
}

type Broken = Extract<LastItem, { readonly type: "broken" }>

/** Of an answer that broke off. */
export const failedMembers = ({ charged, error }: Broken, output: ResponsesObject["output"]): VaryingMembers => ({
  status: "failed",
  error: { code: publishedCode(error.error.code), message: error.error.message, type: error.error.code },
  incomplete_details: null,
  output,
  usage: charged === undefined ? null : usageBody(charged)
})

/** The published codes of a response are a closed list of their own. */
const publishedCode = (code: ErrorCode): NonNullable<ResponsesObject["error"]>["code"] => {
  if (code === "rate_limit_exceeded") return code
  return code === "invalid_request" ? "invalid_prompt" : "server_error"
}

const usageBody = ({ cost, usage }: ChargedUsage): ResponsesUsage => ({
  input_tokens: promptTokens(usage),
  input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: cacheWriteTokens(usage) },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: totalTokens(usage),
  cost: toUsdNumber(cost)
})

/** All members that stay the same, as one object. */
export const lastingMembers = (
  envelope: Envelope,
  answer: Parameters<typeof metadataMembers>[1] & { readonly model: string },
  repeated: RepeatedMembers
) => ({ ...headMembers(envelope, answer.model), ...repeated, ...metadataMembers(envelope, answer) })
