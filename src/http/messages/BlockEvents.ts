/** The events of the blocks of an answer, and what they add up to for a client that reads a stream. */

export type MessageBlock =
  | { readonly type: "text"; readonly text: string; readonly citations: null }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: object }

export type MessageBlockDelta =
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "thinking_delta"; readonly thinking: string }
  | { readonly type: "signature_delta"; readonly signature: string }
  | { readonly type: "input_json_delta"; readonly partial_json: string }

/** An event of a stream, as it goes over the wire. */
export type BlockEvent =
  | { readonly type: "content_block_start"; readonly index: number; readonly content_block: MessageBlock }
  | { readonly type: "content_block_delta"; readonly index: number; readonly delta: MessageBlockDelta }
  | { readonly type: "content_block_stop"; readonly index: number }

/** The JSON object that a text is. */
export const objectIn = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The blocks that the events of a whole answer add up to. */
export const blocksFrom = (events: ReadonlyArray<BlockEvent>): ReadonlyArray<MessageBlock> => {
  const blocks: Array<{ readonly start: MessageBlock; text: string; signature: string }> = []
  for (const event of events) {
    if (event.type === "content_block_start") blocks.push({ start: event.content_block, text: "", signature: "" })
    const block = blocks[event.index]
    if (event.type !== "content_block_delta" || block === undefined) continue
    if (event.delta.type === "signature_delta") block.signature = event.delta.signature
    else block.text += textOfDelta(event.delta)
  }
  return blocks.map(({ signature, start, text }) => wholeBlock(start, text, signature))
}

const textOfDelta = (delta: Exclude<MessageBlockDelta, { readonly type: "signature_delta" }>): string => {
  switch (delta.type) {
    case "text_delta":
      return delta.text
    case "thinking_delta":
      return delta.thinking
    case "input_json_delta":
      return delta.partial_json
  }
}

/** A block with the text of its deltas. Arguments that are no object go to the client under `_raw`. */
const wholeBlock = (start: MessageBlock, text: string, signature: string): MessageBlock => {
  switch (start.type) {
    case "text":
      return { ...start, text }
    case "thinking":
      return { ...start, thinking: text, signature }
    case "tool_use":
      return { ...start, input: text.trim() === "" ? {} : (objectIn(text) ?? { _raw: text }) }
    case "redacted_thinking":
      return start
  }
}
