/**
 * What a request can ask of OpenAI's server that this gateway cannot do, because it keeps no responses and runs no
 * tools. Each is refused by its name, so that no client waits for what will not come.
 */
import type { JsonObject } from "../../domain/JsonObject.ts"

type Fields = JsonObject

/** Why the first member that cannot be served is refused; `undefined` when there is none. */
export const unsupportedMember = (fields: Fields): string | undefined =>
  unsupportedSetting(fields) ??
  unsupportedTool(fields["tools"], fields["tool_choice"]) ??
  unsupportedItem(fields["input"])

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const stateless = "responses are not stored; send the whole conversation as input"

/** Members that are refused whatever their value is. */
const refused: { readonly [name: string]: string } = {
  previous_response_id: stateless,
  conversation: stateless,
  prompt: "prompts are not stored; send instructions and input",
  context_management: "a conversation is never cut or summarised",
  moderation: "this gateway has no moderation"
}

const unsupportedSetting = (fields: Fields): string | undefined => {
  for (const [name, reason] of Object.entries(refused)) {
    if (isGiven(fields[name])) return `${name} is not supported: ${reason}`
  }
  if (fields["store"] === true) return `store must be false or omitted: ${stateless}`
  if (fields["background"] === true) return "background must be false or omitted: responses are not stored"
  if (fields["truncation"] === "auto") return "truncation must be disabled or omitted: a conversation is never cut"
  const includes = fields["include"]
  return Array.isArray(includes) && includes.includes("message.output_text.logprobs")
    ? "include: message.output_text.logprobs is not supported"
    : undefined
}

const typeIn = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, "type") : undefined

const carriedTools: ReadonlySet<unknown> = new Set(["function", "custom", "namespace"])

/** Searching the web is an offer to the model, which coding agents make by default beside the tools they run. */
const isWebSearch = (type: unknown): boolean =>
  typeof type === "string" && /^web_search(?:_preview)?(?:_\d[\d_]*)?$/.test(type)

/** A tool that is left out, and named among the adjustments. */
export const isLeftOut = (tool: unknown): tool is { readonly type: string } => isWebSearch(typeIn(tool))

const hostedTool = (path: string, type: unknown): string =>
  `${path}: tools of type ${String(type)} are not supported; this gateway runs no tools, so send a function`

const unsupportedTool = (tools: unknown, choice: unknown): string | undefined => {
  const list: ReadonlyArray<unknown> = Array.isArray(tools) ? tools : []
  const hasOwn = list.some((tool) => carriedTools.has(typeIn(tool)))
  for (const [index, tool] of list.entries()) {
    const type = typeIn(tool)
    if (typeof type !== "string" || carriedTools.has(type) || (hasOwn && isWebSearch(type))) continue
    return hostedTool(`tools[${index}].type`, type.slice(0, maxNamed))
  }
  const chosen = typeIn(choice)
  return typeof chosen !== "string" || ["function", "custom", "allowed_tools"].includes(chosen)
    ? undefined
    : hostedTool("tool_choice.type", chosen.slice(0, maxNamed))
}

/** Characters of an unknown type that an error repeats. */
const maxNamed = 64

const carriedItems: ReadonlySet<unknown> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning"
])

const unsupportedItem = (input: unknown): string | undefined => {
  if (!Array.isArray(input)) return undefined
  for (const [index, item] of input.entries()) {
    const type = typeIn(item)
    if (type === "item_reference")
      return `input[${index}]: items of type item_reference are not supported: ${stateless}`
    if (typeof type === "string" && !carriedItems.has(type))
      return `input[${index}]: items of type ${type.slice(0, maxNamed)} are not supported`
    const part = unsupportedPart(item)
    if (part !== undefined) return `input[${index}].${part}`
  }
  return undefined
}

const unsupportedPart = (item: unknown): string | undefined => {
  if (typeof item !== "object" || item === null) return undefined
  for (const member of ["content", "output"]) {
    const parts: unknown = Reflect.get(item, member)
    if (!Array.isArray(parts)) continue
    for (const [index, part] of parts.entries()) {
      if (typeIn(part) === "input_file")
        return `${member}[${index}]: parts of type input_file are not supported; send the text of the file`
      if (typeIn(part) === "input_image" && isGiven(Reflect.get(part, "file_id")))
        return `${member}[${index}].file_id is not supported: files are not stored; send image_url`
    }
  }
  return undefined
}
