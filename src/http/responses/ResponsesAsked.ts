/** What an answer needs of its request: the tools by the client's names, and the members that the answer repeats. */
import type { ResponsesObject } from "../../api/ResponsesAnswer.ts"
import type { JsonObject } from "../../domain/JsonObject.ts"
import type { ClientTool, ClientTools } from "./ClientTools.ts"

/** The members of a response object that do not change while it is made. */
export type RepeatedMembers = Omit<
  ResponsesObject,
  "id" | "object" | "created_at" | "model" | "status" | "error" | "incomplete_details" | "output" | "usage" | "svc"
>

export interface ResponsesAsked {
  /** By the name of the function that stands for the tool. */
  readonly tools: ReadonlyMap<string, ClientTool>
  readonly repeated: RepeatedMembers
}

/** `fields`: a body that the schema has accepted. */
export const responsesAsked = (fields: JsonObject, { named }: ClientTools): ResponsesAsked => ({
  tools: named,
  repeated: repeatedMembers(fields)
})

const repeatedMembers = (fields: JsonObject): RepeatedMembers => {
  // The schema has checked what stands under each name.
  const given = <Name extends keyof RepeatedMembers>(name: Name) =>
    (fields[name] ?? null) as RepeatedMembers[Name] | null
  const reasoning = given("reasoning")
  return {
    background: false,
    instructions: given("instructions"),
    max_output_tokens: given("max_output_tokens"),
    metadata: given("metadata") ?? {},
    parallel_tool_calls: given("parallel_tool_calls") ?? true,
    previous_response_id: null,
    prompt_cache_key: given("prompt_cache_key"),
    prompt_cache_retention: given("prompt_cache_retention"),
    reasoning: { effort: null, summary: null, ...reasoning },
    safety_identifier: given("safety_identifier"),
    service_tier: "default",
    store: false,
    temperature: given("temperature"),
    text: { format: { type: "text" }, ...given("text") },
    tool_choice: given("tool_choice") ?? "auto",
    tools: (given("tools") ?? []).map(withRequiredMembers),
    top_logprobs: 0,
    top_p: given("top_p"),
    truncation: "disabled",
    user: given("user")
  }
}

/** Clients may leave out what the type of an answer's tools requires. */
const withRequiredMembers = (tool: JsonObject): JsonObject =>
  tool["type"] === "function"
    ? { ...tool, parameters: tool["parameters"] ?? null, strict: tool["strict"] ?? false }
    : tool
