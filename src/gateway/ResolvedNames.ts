/**
 * The names that an organization gives to models, resolved where a chat request names one. They come before the ids of
 * the catalog. What a request named stays in its receipt.
 */
import { Option, Schema } from "effect"

import { AliasEntries, automaticModel } from "../domain/AliasEntries.ts"
import type { ChatCall, ChatInput } from "./ChatCall.ts"

/** Of more organizations with names than these, the one that was met first is read again when it is next asked for. */
const maxKnown = 1_000

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(AliasEntries))

type NamingCall = Pick<ChatCall, "caller" | "input">

/** Makes a function that resolves the names of a request, if its organization has any. */
export const makeNameResolver = (): (<Call extends NamingCall>(call: Call) => Call) => {
  const known = new Map<string, ReadonlyMap<string, string>>()
  const namesIn = (json: string): ReadonlyMap<string, string> => {
    const before = known.get(json)
    if (before !== undefined) return before
    const [oldest] = known.keys()
    if (known.size >= maxKnown && oldest !== undefined) known.delete(oldest)
    const names = new Map(Object.entries(Option.getOrElse(decode(json), () => ({}))))
    known.set(json, names)
    return names
  }
  return (call) => {
    const { aliases } = call.caller
    return aliases === undefined ? call : { ...call, input: resolved(call.input, namesIn(aliases)) }
  }
}

const resolved = (input: ChatInput, names: ReadonlyMap<string, string>): ChatInput => {
  const { choices } = input
  const { sentModel = input.model } = input
  const named = sentModel === undefined ? undefined : names.get(sentModel)
  const model = named ?? (input.model === undefined ? undefined : (names.get(input.model) ?? input.model))
  // The first of `models` takes the place of a model that is not given, and is not its own fallback.
  const listed = choices?.models?.filter(({ name }, index) => index > 0 || name !== input.model)
  const models = listed?.map((one) => ({ ...one, name: names.get(one.name) ?? one.name }))
  return {
    ...input,
    model: model === automaticModel ? undefined : model,
    ...(choices && { choices: { ...choices, ...(models && { models }) } })
  }
}
