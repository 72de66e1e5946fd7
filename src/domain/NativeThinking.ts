/**
 * Blocks of thinking that Claude signed and that a client brings as they are, for example from a conversation that
 * began at Anthropic itself. Nobody here knows which Claude signed them, so they go to any, and to no other model.
 * Blocks that the gateway has handed out are no such blocks: their ids name the model that made them.
 */
import type { ReasoningDetail } from "./Conversation.ts"

/** Where in a message a block of thinking stands. */
export interface NativePosition {
  /** Characters of text before it. */
  readonly text: number
  /** Tool calls before it. */
  readonly calls: number
}

export type NativeThinking =
  | { readonly type: "text"; readonly text: string; readonly signature: string; readonly position: NativePosition }
  | { readonly type: "redacted"; readonly data: string; readonly position: NativePosition }

/** Under which a detail holds the block. No text of JSON can have it, so no client can write one by itself. */
const native = Symbol("native thinking")

type NativeDetail = ReasoningDetail & { readonly [native]: NativeThinking }

/** The block as a detail of its message. */
export const nativeDetail = (thinking: NativeThinking): ReasoningDetail => {
  const detail: NativeDetail = { type: "native", [native]: thinking }
  return detail
}

/** The block in a detail, if it holds one. */
export const nativeThinkingIn = (detail: ReasoningDetail): NativeThinking | undefined =>
  native in detail ? (detail as NativeDetail)[native] : undefined
