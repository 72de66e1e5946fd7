/**
 * The content blocks of an answer, in the order in which the model made them. In a stream one block follows another and
 * none is open beside it, so whatever belongs to another block waits until the open one is complete. A plain answer is
 * what its stream adds up to.
 */
import type { ReasoningDetail } from "../../domain/Conversation.ts"
import { type DetailJoiner, detailJoiner } from "../../domain/ReasoningBlocks.ts"
import type { Delta } from "../../gateway/Meter.ts"
import { type BlockEvent, type MessageBlock, type MessageBlockDelta, objectIn } from "./BlockEvents.ts"
import { signatureOf } from "./ThinkingSignatures.ts"

interface ThinkingBlock {
  readonly type: "thinking"
  thinking: string
  readonly details: DetailJoiner
}

/** The block that is being written. */
type OpenBlock =
  | { readonly type: "text" }
  | ThinkingBlock
  | {
      readonly type: "tool_use"
      /** The index of the call in the answer. */
      readonly call: number
      written: string
      /** False while it is not known whether the arguments are an object at all. */
      streams: boolean
    }

/** Writes the blocks of one answer. It holds state: the block that is open, and what waits for its end. */
export class MessageBlocks {
  /** Whether the model refused to answer. */
  hasRefused = false
  private readonly showsThinking: boolean
  private events: Array<BlockEvent> = []
  private index = -1
  private open: OpenBlock | undefined
  private waiting: Array<Delta> = []
  /** Reasoning that came right after text. What it belongs to may follow. */
  private afterText: Array<ReasoningDetail> = []
  private hasTools = false

  /** `showsThinking`: whether the client gets blocks of thinking, which it needs to send back. */
  constructor({ showsThinking }: { readonly showsThinking: boolean }) {
    this.showsThinking = showsThinking
  }

  push(item: Delta): void {
    if (!this.mayBeWritten(item)) {
      this.waiting.push(item)
      return
    }
    this.write(item)
    if (this.waiting.length > 0 && this.open?.type === "tool_use" && isObjectText(this.open.written))
      this.writeWaiting()
  }

  /**
   * Ends the last block. Whatever has waited comes first. An answer in words ends with them: clients such as Claude
   * Code show the last block, and no provider needs the reasoning behind the last words of a turn.
   */
  finish(): void {
    while (this.waiting.length > 0) this.writeWaiting()
    if (this.hasTools) this.writeAfterText()
    this.close()
  }

  /** The events since the last call. */
  take(): ReadonlyArray<BlockEvent> {
    const taken = this.events
    this.events = []
    return taken
  }

  /** False for what belongs to another block than a call whose arguments are not complete, or comes after such. */
  private mayBeWritten(item: Delta): boolean {
    const { open, waiting } = this
    if (open?.type !== "tool_use") return true
    if (item.type === "arguments" && item.index <= open.call) return true
    return waiting.length === 0 && isObjectText(open.written)
  }

  private writeWaiting(): void {
    this.close()
    const items = this.waiting
    this.waiting = []
    for (const item of items) this.push(item)
  }

  private write(item: Delta): void {
    if (item.type !== "detail") this.writeAfterText()
    switch (item.type) {
      case "text":
        return this.writeText(item.text)
      case "refusal":
        this.hasRefused = true
        return this.writeText(item.text)
      case "reasoning":
        return this.showsThinking && item.text !== "" ? this.writeThinking(item.text) : undefined
      case "detail":
        return this.showsThinking ? this.writeDetail(item.detail) : undefined
      case "tool":
        this.hasTools = true
        this.start({ type: "tool_use", id: item.id, name: item.name, input: {} })
        this.open = { type: "tool_use", call: item.index, written: "", streams: false }
        return undefined
      case "arguments":
        return this.writeArguments(item.index, item.fragment)
    }
  }

  private writeText(text: string): void {
    if (text === "") return
    if (this.open?.type !== "text") {
      this.start({ type: "text", text: "", citations: null })
      this.open = { type: "text" }
    }
    this.delta({ type: "text_delta", text })
  }

  private writeThinking(text: string): void {
    this.openThinking().thinking += text
    this.delta({ type: "thinking_delta", thinking: text })
  }

  private openThinking(): ThinkingBlock {
    if (this.open?.type === "thinking") return this.open
    this.start({ type: "thinking", thinking: "", signature: "" })
    const block: ThinkingBlock = { type: "thinking", thinking: "", details: detailJoiner() }
    this.open = block
    return block
  }

  private writeDetail(detail: ReasoningDetail): void {
    if (detail["type"] === "reasoning.text" || detail["type"] === "reasoning.summary") {
      this.writeAfterText()
      this.openThinking().details.append(detail)
      // A signature ends a block of thinking.
      if (typeof detail["signature"] === "string" && detail["signature"] !== "") this.close()
      return
    }
    if (this.open?.type === "thinking") {
      this.open.details.append(detail)
      return this.close()
    }
    if (this.open?.type === "text") this.afterText.push(detail)
    else this.writeRedacted(detail)
  }

  private writeRedacted(detail: ReasoningDetail): void {
    this.start({ type: "redacted_thinking", data: signatureOf([detail]) })
    this.events.push({ type: "content_block_stop", index: this.index })
  }

  private writeAfterText(): void {
    const details = this.afterText
    this.afterText = []
    for (const detail of details) this.writeRedacted(detail)
  }

  private writeArguments(call: number, fragment: string): void {
    const { open } = this
    // What follows a complete object means nothing.
    if (open?.type !== "tool_use" || open.call !== call) return
    open.written += fragment
    if (open.streams) return this.delta({ type: "input_json_delta", partial_json: fragment })
    if (!open.written.trimStart().startsWith("{")) return
    open.streams = true
    this.delta({ type: "input_json_delta", partial_json: open.written })
  }

  private start(block: MessageBlock): void {
    this.close()
    this.index++
    this.events.push({ type: "content_block_start", index: this.index, content_block: block })
  }

  private delta(delta: MessageBlockDelta): void {
    this.events.push({ type: "content_block_delta", index: this.index, delta })
  }

  private close(): void {
    const { open } = this
    if (open === undefined) return
    if (open.type === "thinking")
      this.delta({ type: "signature_delta", signature: signatureOf(open.details.joined, open.thinking) })
    if (open.type === "tool_use" && !open.streams && open.written.trim() !== "")
      this.delta({ type: "input_json_delta", partial_json: JSON.stringify({ _raw: open.written }) })
    this.events.push({ type: "content_block_stop", index: this.index })
    this.open = undefined
  }
}

/** True for the text of one whole JSON object. */
const isObjectText = (text: string): boolean => text.trimEnd().endsWith("}") && objectIn(text) !== undefined
