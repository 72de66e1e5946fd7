/**
 * The parameters of a request for a chat or a response that no model gets: those that the contract ignores, and those
 * that are not known here at all, such as `top_k`. They are accepted, because clients of many services set them, but
 * not in silence: each is named in the answer like a parameter that only this one model does not take.
 */
import { isPlainObject, type JsonObject } from "../../domain/JsonObject.ts"

/** What a value asks for in vain; `undefined` for a value that asks for what happens anyway. */
type Rule = (value: unknown) => "omitted" | "false" | undefined

const omitted: Rule = (value) => (isEmpty(value) ? undefined : "omitted")

const omittedUnless =
  (...usual: ReadonlyArray<unknown>): Rule =>
  (value) =>
    usual.includes(value) ? undefined : omitted(value)

const asksForNothing: Rule = () => undefined

/** Parameters of which some values change nothing. Of those that are not here, only an empty value does. */
const rules: { readonly [name: string]: Rule } = {
  logprobs: omittedUnless(false),
  top_logprobs: omittedUnless(0),
  // Providers are told to store nothing, whatever the client says.
  store: (value) => (value === true ? "false" : undefined),
  service_tier: omittedUnless("auto", "default"),
  verbosity: omittedUnless("medium"),
  // The usage is in every answer.
  stream_options: asksForNothing,
  background: omittedUnless(false),
  // Of the client alone, and of tools that the provider would run.
  client_metadata: asksForNothing,
  max_tool_calls: asksForNothing,
  usage: asksForNothing
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isPlainObject(value) && Object.keys(value).length === 0)

/** Members of messages that no model gets. SDKs send back whole messages, in which they may be null. */
const ofMessages = ["name", "function_call", "audio"] as const

/** More than any client sets. The names go into a header, whose length is limited. */
const mostNamed = 32
/** Names are the client's own text, and a header cannot hold every character. */
const plainName = /^[\w.-]{1,64}$/

/** Each as `name=omitted`, or with what is sent in its place. `read`: the members of every body that are read. */
export const ignoredParameters = (
  fields: JsonObject,
  serviceName: string,
  read: ReadonlySet<string>
): ReadonlyArray<string> => {
  const found = new Map<string, string>()
  for (const name of Object.keys(fields)) {
    if (read.has(name) || name === serviceName) continue
    const sent = (Object.hasOwn(rules, name) ? (rules[name] ?? omitted) : omitted)(fields[name])
    if (sent !== undefined) found.set(plainName.test(name) ? name : "other", sent)
  }
  for (const name of unknownInMessages(fields["messages"])) found.set(`messages.${name}`, "omitted")
  if (asksForStrictTools(fields["tools"])) found.set("tools.function.strict", "omitted")
  return found.size === 0 ? [] : namedUpTo(mostNamed, [...found])
}

const namedUpTo = (
  most: number,
  found: ReadonlyArray<readonly [name: string, sent: string]>
): ReadonlyArray<string> => {
  const named = found.length > most ? [...found.slice(0, most), ["other", "omitted"]] : found
  return named.map(([name, sent]) => `${name}=${sent}`)
}

/** Conversations are long, so this makes nothing as long as it finds nothing. */
const unknownInMessages = (messages: unknown): ReadonlyArray<string> =>
  Array.isArray(messages)
    ? ofMessages.filter((name) => messages.some((message) => isPlainObject(message) && !isEmpty(message[name])))
    : []

const asksForStrictTools = (tools: unknown): boolean =>
  Array.isArray(tools) &&
  tools.some((tool) => isPlainObject(tool) && isPlainObject(tool["function"]) && tool["function"]["strict"] === true)
