/** The types of request bodies are closed: the compiler refuses a member that they do not name. */
import { assert, it } from "@effect/vitest"

import type { ChatProtocolName } from "../../../src/catalog/Model.ts"
import type { RequestBody as AnthropicBody } from "../../../src/providers/protocols/anthropic-messages/Body.ts"
import type { RequestBody as ConverseBody } from "../../../src/providers/protocols/bedrock-converse/Body.ts"
import type { RequestBody as GeminiBody } from "../../../src/providers/protocols/gemini/Body.ts"
import type { RequestBody as ChatCompletionsBody } from "../../../src/providers/protocols/openai-chat/Body.ts"
import type { RequestBody as ResponsesBody } from "../../../src/providers/protocols/openai-responses/Body.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"

interface Bodies {
  readonly "openai-chat": ChatCompletionsBody
  readonly "openai-responses": ResponsesBody
  readonly "anthropic-messages": AnthropicBody
  readonly gemini: GeminiBody
  readonly "bedrock-converse": ConverseBody
}

/** `true` only for a type in which every member is named and has to be given, if only as `undefined`. */
type IsClosed<Body> = string extends keyof Body ? false : Body extends Required<Body> ? true : false

const closed: { readonly [Name in ChatProtocolName]: IsClosed<Bodies[Name]> } = {
  "openai-chat": true,
  "openai-responses": true,
  "anthropic-messages": true,
  gemini: true,
  "bedrock-converse": true
}

it("The request body of every protocol names all of its members", () => {
  assert.deepStrictEqual(Object.keys(closed), Object.keys(protocols))
})
