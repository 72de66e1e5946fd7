/** OpenAI's chat completions as a protocol of clients: `POST /v1/chat/completions`. */
import { Result } from "effect"
import type { Headers } from "effect/http"

import { detailJoiner } from "../../domain/ReasoningBlocks.ts"
import type { ClientProtocol, Envelope, StreamEncoder, StreamHead } from "../completion/ClientProtocol.ts"
import { chunkWriter, completionBody, doneLine, joinReasoning, keepAliveComment } from "./ChatAnswer.ts"
import { readChatBody } from "./ChatBody.ts"

/** What the answer needs of the request. */
export interface ChatAsked {
  /**
   * The client keeps the `reasoning_details` of the last chunk that has some, and no others; so one with all of them,
   * each in one piece, comes at the end.
   */
  readonly keepsLastDetails: boolean
}

export const chatCompletions: ClientProtocol<ChatAsked> = {
  endpoint: "chat.completions",
  read: (body, context, headers) =>
    Result.map(readChatBody(body, context), (input) => ({
      input,
      asked: { keepsLastDetails: keepsLastDetails(headers) }
    })),
  plain: completionBody,
  stream: (envelope, head, asked) => chatEncoder(envelope, head, asked),
  keepAlive: keepAliveComment
}

/**
 * True for the helpers of the `openai` package for Node that put a message together from its chunks: members that they
 * do not know are replaced by each chunk. The helpers of other packages join them, and would get them twice.
 */
const keepsLastDetails = (headers: Headers.Headers): boolean =>
  headers["x-stainless-lang"] === "js" && headers["x-stainless-helper-method"] !== undefined

/** Encodes a streamed answer. The first text begins with the opening chunk, and the last one ends with `[DONE]`. */
export const chatEncoder = (envelope: Envelope, head: StreamHead, { keepsLastDetails }: ChatAsked): StreamEncoder => {
  const writer = chunkWriter(envelope, head)
  const details = detailJoiner()
  let begins = true
  const opening = (): string => {
    const text = begins ? writer.first() : ""
    begins = false
    return text
  }
  return {
    deltas: (deltas) => {
      let text = opening()
      if (keepsLastDetails) for (const item of deltas) if (item.type === "detail") details.append(item.detail)
      for (const item of joinReasoning(deltas)) text += writer.item(item)
      return text
    },
    last: (item) => {
      let text = opening()
      if (item.type === "settled" && details.joined.length > 0)
        text += writer.item({ type: "complete_details", details: details.joined })
      return text + writer.item(item) + doneLine
    }
  }
}
