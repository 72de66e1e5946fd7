/**
 * What a body in Anthropic's form may have that the gateway does not carry: members and blocks that change what the
 * request means are refused, and members that only steer how Anthropic's own service works are left out and named.
 */
import type { JsonObject } from "../../domain/JsonObject.ts"

/** The error message for the first thing that must be refused. */
export const unsupportedIn = (fields: JsonObject): string | undefined =>
  unsupportedMember(fields) ?? unsupportedTool(fields["tools"]) ?? unsupportedBlock(fields["messages"])

/**
 * The message for a request that continues a conversation which the server would have to keep. Anthropic's packages try
 * to, and send all messages once they are refused with the details that belong to this message.
 */
export const threadRefusal = "thread is not supported: this gateway keeps no conversations; send all messages"

const unsupportedMembers: { readonly [name: string]: string } = {
  mcp_servers: "; call the server yourself and offer its tools in tools",
  container: "",
  inference_geo: "; which providers a key may reach is set by the operator"
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const unsupportedMember = (fields: JsonObject): string | undefined => {
  if (isGiven(fields["thread"])) return threadRefusal
  for (const [name, hint] of Object.entries(unsupportedMembers))
    if (isGiven(fields[name])) return `${name} is not supported${hint}`
  return undefined
}

const entries = function* (value: unknown): Generator<readonly [number, JsonObject]> {
  if (!Array.isArray(value)) return
  const items: ReadonlyArray<unknown> = value
  for (const [at, item] of items.entries())
    // A value that is neither a primitive nor an array has members.
    if (typeof item === "object" && item !== null && !Array.isArray(item)) yield [at, item as JsonObject]
}

/** A type from a request in quotes, cut for an error message. */
const quotedType = (type: unknown): string => JSON.stringify(String(type).slice(0, 64))

/** Anthropic runs some tools itself and has taught its models others; no other vendor knows either. */
const unsupportedTool = (tools: unknown): string | undefined => {
  for (const [at, { type }] of entries(tools))
    if (isGiven(type) && type !== "custom")
      return `tools[${at}]: a tool of type ${quotedType(type)} is not supported; offer one with an input_schema`
  return undefined
}

const carriedBlocks: ReadonlySet<unknown> = new Set([
  "text",
  "image",
  "document",
  "search_result",
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking"
])

const unsupportedBlock = (messages: unknown): string | undefined => {
  for (const [at, { content }] of entries(messages))
    for (const [index, block] of entries(content)) {
      const path = `messages[${at}].content[${index}]`
      const found = blockFault(path, block)
      if (found !== undefined) return found
      if (block["type"] !== "tool_result") continue
      for (const [inner, part] of entries(block["content"])) {
        const fault = blockFault(`${path}.content[${inner}]`, part)
        if (fault !== undefined) return fault
      }
    }
  return undefined
}

const blockFault = (path: string, { source, type }: JsonObject): string | undefined => {
  if (typeof type === "string" && !carriedBlocks.has(type))
    return `${path}: a block of type ${quotedType(type)} is not supported`
  if (type !== "document" && type !== "image") return undefined
  const kind: unknown = typeof source === "object" && source !== null ? Reflect.get(source, "type") : undefined
  if (kind === "file") return `${path}: files that are stored elsewhere are not supported; send the ${type} itself`
  return type === "document" && (kind === "base64" || kind === "url")
    ? `${path}: no model of this gateway reads document files; send the text of the document`
    : undefined
}

/** Members that are read, here or wherever a request's choices are. */
const readMembers: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "stream",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "output_format",
  "temperature",
  "top_p",
  "stop_sequences",
  "metadata",
  "cache_control",
  "provider",
  "models"
])

/** Members whose absence changes nothing. */
const isUsual = (name: string, value: unknown): boolean => name === "speed" && value === "standard"

/** Names in a header must be short and few. */
const nameable = /^\w{1,40}$/
const maxNamed = 16

/** The members that go to no model, as adjustments. `serviceName`: the member that is for the gateway itself. */
export const leftOutOf = (fields: JsonObject, serviceName: string): ReadonlyArray<string> => {
  const names = new Set<string>()
  for (const [name, value] of Object.entries(fields)) {
    if (!isGiven(value) || readMembers.has(name) || name === serviceName || isUsual(name, value)) continue
    names.add(nameable.test(name) && names.size < maxNamed ? name : "other")
  }
  return [...Array.from(names, (name) => `${name}=omitted`), ...leftOutOfTools(fields["tools"])]
}

const toolMembers = ["strict", "input_examples", "defer_loading", "allowed_callers"] as const

const leftOutOfTools = (tools: unknown): ReadonlyArray<string> => {
  const given = new Set<string>()
  for (const [, tool] of entries(tools))
    for (const name of toolMembers) if (isGiven(tool[name]) && tool[name] !== false) given.add(`tools.${name}=omitted`)
  return [...given]
}
