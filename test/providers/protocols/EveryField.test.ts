/**
 * Every field that a chat request may have, at every shipped endpoint and in every dialect: it reaches the provider, or
 * the gateway acts on it, or the request is refused, or what became of it is named. The fields are read from the schema
 * of requests, so a new one fails here until it is said what it does.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, type SchemaAST } from "effect"

import { ChatCompletionRequest } from "../../../src/api/ChatRequest.ts"
import { loadCatalog } from "../../../src/catalog/Catalog.ts"
import { isChat, isTranscription } from "../../../src/catalog/Model.ts"
import type { ChatRequest } from "../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { normalise } from "../../../src/domain/Reasoning.ts"
import type { TranscriptionRequest } from "../../../src/domain/Transcription.ts"
import { readChatBody } from "../../../src/http/chat/ChatBody.ts"
import { transcriptionChat } from "../../../src/providers/dispatch/ChatTranscription.ts"
import {
  type AdjustedCall,
  adjustmentsOf,
  transcriptionAdjustmentsOf
} from "../../../src/providers/protocols/Adjustments.ts"
import { openAiTranscription } from "../../../src/providers/protocols/openai-transcription/OpenAiTranscription.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { dialects } from "../../../src/providers/protocols/shared/Dialects.ts"
import { recording } from "../recordings.ts"
import { model, thinker } from "./wire.ts"

/** The paths of all values that a schema describes, such as `messages[].content[].text`. */
const pathsIn = (ast: SchemaAST.AST, path = ""): ReadonlyArray<string> => {
  switch (ast._tag) {
    case "Objects": {
      const members = ast.propertySignatures.flatMap(({ name, type }) =>
        pathsIn(type, path === "" ? String(name) : `${path}.${String(name)}`)
      )
      return ast.indexSignatures.length > 0 ? [path, ...members] : members
    }
    case "Arrays":
      return [...ast.elements, ...ast.rest].flatMap((item) => pathsIn(item, `${path}[]`))
    case "Union":
      return ast.types.flatMap((member) => pathsIn(member, path))
    case "Null":
      return []
    default:
      return [path]
  }
}

/** What a field does, shown by a body that has it. */
interface Probe {
  /** Members beside the usual ones. */
  readonly body: JsonObject
  /** How the value is written in every provider's body that has it. Without it, the body must differ from `without`. */
  readonly reaches?: RegExp
  /** The body without the field; by default a question and nothing else. */
  readonly without?: JsonObject
  /** True for models that do without it what it asks for. */
  readonly isUsual?: (place: Place) => boolean
  /** The name by which clients are told of it; by default the path. */
  readonly name?: string
}

/** The field of a probe, or what the gateway does with the field by itself. */
type Purpose = Probe | string

const user = (content: unknown, more: JsonObject = {}) => ({ role: "user", content, ...more })
const question = { messages: [user("Hello")] }
const messages = (...list: ReadonlyArray<JsonObject>) => ({ messages: list })
const part = (member: JsonObject) => messages(user([{ type: "text", text: "Look" }, member]))
const image = (more: JsonObject = {}) => ({
  type: "image_url",
  image_url: { url: "data:image/png;base64,AAAA1234", ...more }
})
const audio = { type: "input_audio", input_audio: { data: "QUFBQUFB", format: "wav" } }
const call = (more: JsonObject = {}, ofMessage: JsonObject = {}) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "find_it", arguments: '{"at":"here"}' }, ...more }],
  ...ofMessage
})
const result = (more: JsonObject = {}) => ({ role: "tool", tool_call_id: "call_1", content: "Found", ...more })
const reasoned = (more: JsonObject) => messages(user("Hi"), { role: "assistant", content: "Yes", ...more }, user("Why"))
const tool = (more: JsonObject = {}, ofTool: JsonObject = {}) => ({
  type: "function",
  function: { name: "find_it", parameters: { type: "object", properties: { place: { type: "string" } } }, ...more },
  ...ofTool
})
const tools = (...list: ReadonlyArray<JsonObject>) => ({ ...question, tools: list })
const schema = (more: JsonObject) => ({
  ...question,
  response_format: {
    type: "json_schema",
    json_schema: { name: "shape", schema: { type: "object", properties: { city: { type: "string" } } }, ...more }
  }
})

const control = { cache_control: { type: "ephemeral" } }
const long = { cache_control: { type: "ephemeral", ttl: "1h" } }
const mark = /"(?:cache_control|cachePoint|prompt_cache_breakpoint)":/
const longMark = /"ttl":"(?:1h|12h)"/
const cache = { reaches: mark, name: "cache_control" }
const longCache = { reaches: longMark, name: "cache_control" }

/** What asks for places and is sent to none. */
const choosing: ReadonlyArray<string> = [
  "models[]",
  "provider.allow_fallbacks",
  "provider.data_collection",
  "provider.ignore[]",
  "provider.max_price.completion",
  "provider.max_price.image",
  "provider.max_price.prompt",
  "provider.max_price.request",
  "provider.only[]",
  "provider.order[]",
  "provider.require_parameters",
  "provider.sort",
  "provider.sort.by",
  "provider.zdr",
  "svc.cost_quality",
  "svc.max_cost_usd"
]

const purposes: { readonly [path: string]: Purpose } = {
  ...Object.fromEntries(choosing.map((path) => [path, "chooses the places that may be called, and their order"])),
  "messages[].role": {
    body: messages({ role: "system", content: "Hello" }, user("Hi")),
    without: messages(user("Hi"))
  },
  "messages[].content": { body: messages(user("a word_0")), reaches: /a word_0/ },
  "messages[].content[].type": "tells the kinds of parts apart",
  "messages[].content[].text": { body: part({ type: "text", text: "a word_0" }), reaches: /a word_0/ },
  "messages[].content[].cache_control.type": { body: part({ type: "text", text: "End", ...control }), ...cache },
  "messages[].content[].cache_control.ttl": { body: part({ type: "text", text: "End", ...long }), ...longCache },
  "messages[].cache_control.type": { body: messages(user("Hello", control)), ...cache },
  "messages[].cache_control.ttl": { body: messages(user("Hello", long)), ...longCache },
  "messages[].content[].image_url.url": { body: part(image()), reaches: /AAAA1234/ },
  "messages[].content[].image_url.detail": {
    body: part(image({ detail: "low" })),
    reaches: /"detail":"low"/,
    name: "image_url.detail"
  },
  "messages[].content[].input_audio.data": { body: part(audio), reaches: /QUFBQUFB/ },
  "messages[].content[].input_audio.format": "the bytes tell it too, and one API has no place for it",
  "messages[].content[].refusal": {
    body: messages(user("Hi"), { role: "assistant", content: [{ type: "refusal", refusal: "word_0" }] }, user("Why")),
    reaches: /word_0/
  },
  "messages[].tool_calls[].id": "joins calls and results, in whatever form the provider accepts",
  "messages[].tool_calls[].type": "there is one type",
  "messages[].tool_calls[].function.name": { body: messages(user("Hi"), call(), result()), reaches: /find_it/ },
  "messages[].tool_calls[].function.arguments": { body: messages(user("Hi"), call(), result()), reaches: /here/ },
  "messages[].tool_calls[].cache_control.type": { body: messages(user("Hi"), call(control), result()), ...cache },
  "messages[].tool_calls[].cache_control.ttl": { body: messages(user("Hi"), call(long), result()), ...longCache },
  "messages[].refusal": {
    body: messages(user("Hi"), { role: "assistant", content: null, refusal: "word_0" }, user("Why")),
    reaches: /word_0/
  },
  "messages[].reasoning": { body: reasoned({ reasoning: "word_0" }), reaches: /word_0/, name: "messages.reasoning" },
  "messages[].reasoning_content": {
    body: reasoned({ reasoning_content: "word_0" }),
    reaches: /word_0/,
    name: "messages.reasoning"
  },
  "messages[].reasoning_details[]": {
    body: reasoned({ reasoning_details: [{ type: "reasoning.text", text: "word_0", id: "other/model#1" }] }),
    reaches: /word_0/,
    name: "messages.reasoning_details"
  },
  "messages[].tool_call_id": "joins calls and results, in whatever form the provider accepts",
  model: "chooses the model",
  n: "there is one value",
  "modalities[]": "there is one value",
  "svc.strict": "leaves out the places that would get a parameter changed or not at all",
  stream: "decides the form of the answer",
  temperature: { body: { ...question, temperature: 0.123 }, reaches: /"temperature":0\.123\b/ },
  max_completion_tokens: {
    body: { ...question, max_completion_tokens: 4_321 },
    reaches: /"(?:max_\w*tokens|max\w*Tokens)":4321\b/
  },
  max_tokens: {
    body: { ...question, max_tokens: 4_321 },
    reaches: /"(?:max_\w*tokens|max\w*Tokens)":4321\b/,
    name: "max_completion_tokens"
  },
  "tools[].type": "there is one type",
  "tools[].function.name": { body: tools(tool()), reaches: /find_it/ },
  "tools[].function.description": { body: tools(tool({ description: "a word_0" })), reaches: /a word_0/ },
  "tools[].function.parameters": { body: tools(tool()), reaches: /"place"/ },
  "tools[].function.cache_control.type": { body: tools(tool(control)), ...cache },
  "tools[].function.cache_control.ttl": { body: tools(tool(long)), ...longCache },
  "tools[].cache_control.type": { body: tools(tool({}, control)), ...cache },
  "tools[].cache_control.ttl": { body: tools(tool({}, long)), ...longCache },
  tool_choice: { body: { ...tools(tool()), tool_choice: "required" }, without: tools(tool()) },
  "tool_choice.type": "there is one type",
  "tool_choice.function.name": {
    body: {
      ...tools(tool(), tool({ name: "lose_it" })),
      tool_choice: { type: "function", function: { name: "lose_it" } }
    },
    without: tools(tool(), tool({ name: "lose_it" }))
  },
  parallel_tool_calls: "calls beyond the first are left out of the answer, wherever a provider does not keep to it",
  "response_format.type": { body: { ...question, response_format: { type: "json_object" } } },
  "response_format.json_schema.name": "names the schema, for the APIs that want a name",
  "response_format.json_schema.description": { body: schema({ description: "a word_0" }), reaches: /a word_0/ },
  "response_format.json_schema.strict": "a schema is enforced in any case",
  "response_format.json_schema.schema": { body: schema({}), reaches: /city/ },
  "reasoning.effort": {
    body: { ...question, reasoning: { effort: "low" } },
    reaches: /"low"/i,
    name: "reasoning"
  },
  "reasoning.max_tokens": {
    body: { ...question, reasoning: { max_tokens: 1_234 } },
    reaches: /:1234\b/,
    name: "reasoning"
  },
  "reasoning.exclude": "reasoning is left out of the answer",
  "reasoning.enabled": {
    body: { ...question, reasoning: { enabled: false } },
    reaches: /"none"|"disabled"|"(?:enabled|enable_thinking)":false|"thinkingBudget":0/,
    isUsual: ({ endpoint, model: { reasoning } }) =>
      reasoning.support === "none" || /^(?:anthropic|bedrock)/.test(endpoint.protocol),
    name: "reasoning"
  },
  reasoning_effort: { body: { ...question, reasoning_effort: "low" }, reaches: /"low"/i, name: "reasoning" },
  top_p: { body: { ...question, top_p: 0.321 }, reaches: /"(?:top_p|topP)":0\.321\b/ },
  stop: "the gateway cuts the text where a provider cannot",
  "stop[]": "the gateway cuts the text where a provider cannot",
  frequency_penalty: {
    body: { ...question, frequency_penalty: 0.25 },
    reaches: /"(?:frequency_penalty|frequencyPenalty)":0\.25\b/
  },
  presence_penalty: {
    body: { ...question, presence_penalty: -0.25 },
    reaches: /"(?:presence_penalty|presencePenalty)":-0\.25\b/
  },
  metadata: "labels the request for its owner",
  session_id: "keeps a conversation on its model; providers get a key of the gateway's own",
  "cache_control.type": { body: { ...question, ...control }, ...cache },
  "cache_control.ttl": { body: { ...question, ...long }, ...longCache },
  prompt_cache_key: { body: { ...question, prompt_cache_key: "key-1" }, reaches: /"prompt_cache_key":"key-1"/ },
  prompt_cache_retention: {
    body: { ...question, prompt_cache_retention: "24h" },
    reaches: /"prompt_cache_retention":"24h"/
  }
}

const { models, providers } = Result.getOrThrow(loadCatalog())

type Place = Omit<AdjustedCall, "request">

/** Every endpoint of the shipped chat models. */
const shipped = [...models.values()].flatMap((one) =>
  one.endpoints.flatMap((endpoint): ReadonlyArray<Place> => {
    const provider = providers.get(endpoint.provider) ?? assert.fail(endpoint.provider)
    return isChat(endpoint.protocol) ? [{ model: one, endpoint, dialect: provider.dialect }] : []
  })
)

/** Models of a catalog file, which may be served in any dialect. */
const others = Object.keys(dialects).flatMap((dialect): ReadonlyArray<Place> =>
  [model(), model(thinker()), model(thinker({ support: "always", budgetTokens: { min: 1_024, max: 32_000 } }))].flatMap(
    (one) =>
      (["openai-chat", "openai-responses"] as const).map((protocol) => ({
        model: one,
        endpoint: { ...one.endpoints[0], protocol },
        dialect: dialect as keyof typeof dialects
      }))
  )
)

const requestOf = (body: JsonObject): ChatRequest => {
  const read = readChatBody(JSON.stringify(body), { autoModel: "svc-auto", sessionHeader: undefined })
  const { reasoning: fields, request } = Result.getOrThrow(read)
  const reasoning = normalise(fields, { routed: false })
  return { ...request, ...(reasoning && { reasoning }) }
}

/** The body that a place would get; `undefined` where the request is refused. */
const bodyAt = ({ dialect, endpoint, model: one }: Place, body: JsonObject): string | undefined => {
  if (!isChat(endpoint.protocol)) return assert.fail("no model for chats")
  const { encode } = protocols[endpoint.protocol]
  const { maxOutputTokens, upstream } = endpoint
  const wire = {
    request: requestOf(body),
    stream: false,
    model: one,
    upstream,
    maxOutputTokens,
    dialect,
    origin: "x/y"
  }
  const encoded = encode(wire)
  return Result.isSuccess(encoded) ? JSON.stringify(encoded.success.body) : undefined
}

/** True when a place gets the field, refuses it, or names what became of it. */
const isAccountedFor = (
  path: string,
  place: Place,
  { body, isUsual, name = path, reaches, without = question }: Probe
) => {
  if (isUsual?.(place)) return true
  const sent = bodyAt(place, body)
  if (sent === undefined || (reaches === undefined ? sent !== bodyAt(place, without) : reaches.test(sent))) return true
  return adjustmentsOf({ ...place, request: requestOf(body) }).some((one) => one.startsWith(name))
}

describe("Of a chat request", () => {
  it("every field has a purpose here", () => {
    const paths = [...new Set(pathsIn(ChatCompletionRequest.ast))]
    assert.deepStrictEqual(Object.keys(purposes).sort(), paths.sort())
  })

  for (const [path, purpose] of Object.entries(purposes))
    if (typeof purpose !== "string")
      it(`${path} is not changed in silence, wherever it goes`, () => {
        const silent = [...shipped, ...others].filter((place) => !isAccountedFor(path, place, purpose))
        const names = silent.map(({ dialect, endpoint }) => `${endpoint.id} ${endpoint.protocol} ${dialect}`)
        assert.deepStrictEqual(names, [])
      })
})

/** Every place where a recording may be transcribed. */
const transcribing: ReadonlyArray<Place> = [
  ...[...models.values()].flatMap((one) =>
    one.endpoints.flatMap((endpoint): ReadonlyArray<Place> => {
      const { dialect } = providers.get(endpoint.provider) ?? assert.fail(endpoint.provider)
      return one.modalities.audio ? [{ model: one, endpoint, dialect }] : []
    })
  ),
  ...Object.keys(dialects).map((dialect) => ({
    model: model({ kind: "transcription" }),
    endpoint: { ...model().endpoints[0], protocol: "openai-transcription" as const },
    dialect: dialect as keyof typeof dialects
  }))
]

/** The form or the body that a place would get. */
const transcriptionAt = ({ dialect, endpoint, model: one }: Place, request: TranscriptionRequest): string => {
  const { maxOutputTokens, protocol, upstream } = endpoint
  if (isTranscription(protocol))
    return JSON.stringify(openAiTranscription.encode({ request, upstream, dialect }).body.fields)
  if (!isChat(protocol)) return assert.fail("no model for audio")
  const chat = transcriptionChat(request)
  const wire = { request: chat, stream: false, model: one, upstream, maxOutputTokens, dialect, origin: "x/y" }
  return JSON.stringify(Result.getOrThrow(protocols[protocol].encode(wire)).body)
}

describe("Of a transcription", () => {
  const options = { language: "de", prompt: "word_0", temperature: 0.123 } as const
  it("every option has a value here", () => {
    assert.deepStrictEqual(Object.keys(openAiTranscription.fields).sort(), ["file", ...Object.keys(options)].sort())
  })

  for (const [name, value] of Object.entries(options))
    it(`the ${name} is not changed in silence, wherever it goes`, () => {
      const request = { ...recording(), [name]: value }
      const silent = transcribing.filter(
        (place) =>
          !transcriptionAt(place, request).includes(String(value)) &&
          !transcriptionAdjustmentsOf({ ...place, request }).includes(`${name}=omitted`)
      )
      assert.deepStrictEqual(
        silent.map(({ dialect, endpoint }) => `${endpoint.id} ${dialect}`),
        []
      )
      const usual = { ...recording(), temperature: 0 }
      for (const place of transcribing)
        assert.deepStrictEqual(transcriptionAdjustmentsOf({ ...place, request: usual }), [])
    })
})
