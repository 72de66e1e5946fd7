/**
 * Response formats that a provider has no parameter for: the model is asked for them in a sentence. The sentence never
 * changes for a format, because a cached prefix must stay the same.
 */
import { type Message, type ResponseFormat, textOf } from "../../../../domain/Conversation.ts"

const objectInstruction = "Answer with one JSON object and nothing else: no text around it and no code fences."

/** The sentence that asks for `format`. */
export const instructionOf = (format: Exclude<ResponseFormat, { readonly type: "text" }>): string =>
  format.type === "json_object"
    ? objectInstruction
    : `${objectInstruction} It must be valid against this JSON Schema: ${JSON.stringify(format.schema)}`

/** OpenAI refuses `json_object` unless the word JSON occurs in the messages. */
export const lacksWordJson = (messages: ReadonlyArray<Message>): boolean =>
  !messages.some((message) => /json/i.test(textOf(message)))
