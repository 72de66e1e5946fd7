/**
 * Makes the output items of a response from the deltas of an answer, in their order. A message ends where reasoning or
 * a call begins. Calls stay open to the end, because models may write several at the same time.
 */
import type { ResponsesOutputItem } from "../../api/ResponsesAnswer.ts"
import type { ReasoningDetail } from "../../domain/Conversation.ts"
import type { Delta } from "../../gateway/Meter.ts"
import type { ClientTool } from "./ClientTools.ts"
import type { EventSink } from "./EventSink.ts"
import { CallOutput, type ItemPlace, type ItemStatus, MessageOutput, type OutputItem } from "./OutputItem.ts"
import { ReasoningOutput } from "./ReasoningOutput.ts"

export interface OutputOptions {
  /** The id of an item: its prefix, and its position in the output. */
  readonly itemId: (prefix: string, index: number) => string
  readonly tools: ReadonlyMap<string, ClientTool>
  readonly sink: EventSink
}

interface PlacedItem {
  readonly item: OutputItem
  /** Set once nothing follows. */
  status: ItemStatus | undefined
}

/** Between the texts of two messages, and between two pieces of reasoning, where a provider has several of them. */
const messageSeparator = "\n"
const reasoningSeparator = "\n\n"

export class ResponseOutput {
  private readonly options: OutputOptions
  private readonly items: Array<PlacedItem> = []
  private readonly calls = new Map<number, CallOutput>()
  private message: MessageOutput | undefined
  private reasoning: ReasoningOutput | undefined
  private hasText = false
  private owesSeparator = false
  /** Reasoning text that no block has repeated so far. */
  private bareReasoning = ""
  /** Blocks that only the model can read and that came after the reasoning. */
  private readonly late: Array<ReasoningDetail> = []

  constructor(options: OutputOptions) {
    this.options = options
  }

  append(delta: Delta): void {
    if (delta.type === "reasoning") {
      this.bareReasoning += delta.text
      return
    }
    if (delta.type === "detail") return this.appendDetail(delta.detail)
    this.flushBareReasoning()
    switch (delta.type) {
      case "text":
        return this.appendText(delta.text)
      case "refusal":
        return this.openMessage().append("refusal", delta.text)
      case "tool":
        return this.startCall(delta)
      case "arguments":
        return this.calls.get(delta.index)?.append(delta.fragment)
    }
  }

  /** Ends the items that are open. `isCut`: the last of them is not complete. */
  finish(isCut: boolean): void {
    this.flushBareReasoning()
    if (this.late.length > 0 && this.reasoning === undefined) this.closeMessage(isCut ? "incomplete" : "completed")
    this.openReasoningIf(this.late.length > 0)
    const lastOpen = this.items.findLastIndex(({ item, status }) => status === undefined && item !== this.reasoning)
    for (const [index, placed] of this.items.entries())
      if (placed.status === undefined) this.close(placed, isCut && index === lastOpen ? "incomplete" : "completed")
  }

  /** The items so far. Those that are open are incomplete. */
  values(): ReadonlyArray<ResponsesOutputItem> {
    return this.items.map(({ item, status }) => item.value(status ?? "incomplete"))
  }

  private appendText(text: string): void {
    if (text === "") return
    // A break between two messages of the provider is none within the second.
    const rest = this.owesSeparator && text.startsWith(messageSeparator) ? text.slice(messageSeparator.length) : text
    if (rest !== text) this.owesSeparator = false
    if (rest === "") return
    this.openMessage().append("text", rest)
    this.hasText = true
    this.owesSeparator = false
  }

  private openMessage(): MessageOutput {
    this.closeReasoning()
    return (this.message ??= this.place("msg", (place) => new MessageOutput(place)))
  }

  private startCall({ id, index, name }: Extract<Delta, { readonly type: "tool" }>): void {
    this.closeReasoning()
    this.closeMessage()
    const tool = this.options.tools.get(name) ?? { kind: "function", name }
    const prefix = tool.kind === "function" ? "fc" : "ctc"
    this.calls.set(
      index,
      this.place(prefix, (place) => new CallOutput(place, id, tool))
    )
  }

  private appendDetail(detail: ReasoningDetail): void {
    const kind = detail["type"] === "reasoning.summary" ? "summary" : "text"
    const readable = kind === "summary" ? detail["summary"] : detail["text"]
    const text = typeof readable === "string" ? readable : ""
    if (text !== "") {
      this.takeBareReasoning(text)
      const item = this.openReasoning()
      item.append({ kind, key: detail["index"], text })
      item.keep(detail)
      return
    }
    this.flushBareReasoning()
    // It must not cut a message in two, and what it belongs to is written in it.
    if (this.reasoning === undefined && this.items.length > 0) this.late.push(detail)
    else this.openReasoning().keep(detail)
  }

  /** Removes the text of a block, and a break before it, from the text that came for people. */
  private takeBareReasoning(text: string): void {
    const bare = this.bareReasoning
    const own = bare.startsWith(reasoningSeparator + text) ? bare.slice(reasoningSeparator.length) : bare
    this.bareReasoning = own.startsWith(text) ? own.slice(text.length) : ""
  }

  private flushBareReasoning(): void {
    if (this.bareReasoning === "") return
    this.openReasoning().append({ kind: "text", key: "bare", text: this.bareReasoning })
    this.bareReasoning = ""
  }

  private openReasoning(): ReasoningOutput {
    this.closeMessage()
    this.reasoning ??= this.place("rs", (place) => new ReasoningOutput(place))
    for (const detail of this.late.splice(0)) this.reasoning.keep(detail)
    return this.reasoning
  }

  private openReasoningIf(isNeeded: boolean): void {
    if (isNeeded) this.openReasoning()
  }

  private closeReasoning(): void {
    this.closeItem(this.reasoning, "completed")
    this.reasoning = undefined
  }

  private closeMessage(status: ItemStatus = "completed"): void {
    this.closeItem(this.message, status)
    if (this.message !== undefined) this.owesSeparator = this.hasText
    this.message = undefined
  }

  private closeItem(item: OutputItem | undefined, status: ItemStatus): void {
    const placed = item && this.items.find((known) => known.item === item)
    if (placed !== undefined) this.close(placed, status)
  }

  private close(placed: PlacedItem, status: ItemStatus): void {
    placed.status = status
    placed.item.close(status)
  }

  private place<Item extends OutputItem>(prefix: string, make: (place: ItemPlace) => Item): Item {
    const index = this.items.length
    const item = make({ id: this.options.itemId(prefix, index), index, sink: this.options.sink })
    this.items.push({ item, status: undefined })
    return item
  }
}
