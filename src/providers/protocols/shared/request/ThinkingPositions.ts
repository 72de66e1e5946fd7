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
  const textUpTo = textReader(content, write)
  let callsDone = 0
  const upTo = (text: number, calls: number): void => {
    for (const block of textUpTo(text)) blocks.push(block)
    for (; callsDone < Math.min(calls, toolCalls.length); callsDone++)
      blocks.push(...toolCalls.slice(callsDone, callsDone + 1).flatMap(write.call))
  }
  for (const block of thinking) {
    upTo(block.position.text, block.position.calls)
    blocks.push(write.thinking(block))
  }
  upTo(Infinity, Infinity)
  return blocks
}

/**
 * Reads the text of a message from its start, each time from where it stopped to the given character; its parts stay
 * apart. It holds state: the part that it has come to, and the characters before that part and within it.
 */
const textReader = <Block>(content: ReadonlyArray<TextPart>, write: BlockWriter<Block>) => {
  let current = 0
  let before = 0
  let done = 0
  return (to: number): ReadonlyArray<Block> => {
    const blocks: Array<Block> = []
    for (let part = content[current]; part !== undefined; part = content[current]) {
      const end = Math.min(part.text.length, to - before)
      if (end > done) blocks.push(...write.text(part.text.slice(done, end), part, end === part.text.length))
      done = Math.max(done, end)
      if (done < part.text.length) break
      before += part.text.length
      current++
      done = 0
    }
    return blocks
  }
}
