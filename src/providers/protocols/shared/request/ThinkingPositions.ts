/**
 * Puts thinking back where the model had it: before the text, between two texts, or between a text and a call. Clients
 * hold the text of an answer in one piece, so it is cut where thinking stood.
 */
import type { AssistantMessage, TextPart, ToolCall } from "../../../../domain/Conversation.ts"
import type { SignedThinking } from "../ReasoningDetails.ts"

/** How a protocol writes what an assistant message is made of. */
export interface BlockWriter<Block> {
  readonly thinking: (thinking: SignedThinking) => Block
  /** `isEnd`: the text ends with the end of its part, where a cache mark of the part stands. */
  readonly text: (text: string, part: TextPart, isEnd: boolean) => ReadonlyArray<Block>
  readonly call: (call: ToolCall) => ReadonlyArray<Block>
}

/** The content of `message` with `thinking` at its positions. */
export const interleaved = <Block>(
  { content, toolCalls }: AssistantMessage,
  thinking: ReadonlyArray<SignedThinking>,
  write: BlockWriter<Block>
): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  let textDone = 0
  let callsDone = 0
  const upTo = (text: number, calls: number): void => {
    blocks.push(...textBetween(content, textDone, text, write))
    blocks.push(...toolCalls.slice(callsDone, calls).flatMap(write.call))
    textDone = Math.max(textDone, text)
    callsDone = Math.max(callsDone, calls)
  }
  for (const block of thinking) {
    upTo(block.position.text, block.position.calls)
    blocks.push(write.thinking(block))
  }
  upTo(Infinity, Infinity)
  return blocks
}

/** The text from one character of the message to another; its parts stay apart. */
const textBetween = <Block>(
  content: ReadonlyArray<TextPart>,
  from: number,
  to: number,
  write: BlockWriter<Block>
): ReadonlyArray<Block> => {
  let start = 0
  return content.flatMap((part) => {
    const partStart = start
    start += part.text.length
    const text = part.text.slice(Math.max(0, from - partStart), Math.max(0, to - partStart))
    return text === "" ? [] : write.text(text, part, to >= start)
  })
}
