/**
 * Items of a response while they are written: messages and calls of tools. Each reports its events, and is a value of
 * the API at any time.
 */
import type { MessagePart, ResponsesOutputItem } from "../../api/ResponsesAnswer.ts"
import { type ClientTool, customInput } from "./ClientTools.ts"
import type { EventSink } from "./EventSink.ts"

export type ItemStatus = "in_progress" | "completed" | "incomplete"

/** What all items have. */
export interface OutputItem {
  /** `status` is how far the item is; reasoning has none. */
  readonly value: (status: ItemStatus) => ResponsesOutputItem
  /** Reports that nothing follows. */
  readonly close: (status: ItemStatus) => void
}

/** Where an item stands in the output. */
export interface ItemPlace {
  readonly id: string
  readonly index: number
  readonly sink: EventSink
}

export const reportAdded = ({ index, sink }: ItemPlace, item: ResponsesOutputItem): void =>
  sink.event("response.output_item.added", { output_index: index, item })

export const reportDone = ({ index, sink }: ItemPlace, item: ResponsesOutputItem): void =>
  sink.event("response.output_item.done", { output_index: index, item })

/** A text that comes in pieces, and the events that report it. */
export class GrowingText {
  text = ""
  private readonly report: (delta: string) => void

  constructor(report: (delta: string) => void) {
    this.report = report
  }

  append(piece: string): void {
    this.text += piece
    this.report(piece)
  }
}

const partKinds = {
  text: { name: "response.output_text", part: textPart, more: { logprobs: [] }, member: "text" },
  refusal: { name: "response.refusal", part: refusalPart, more: {}, member: "refusal" }
} as const

function textPart(text: string): MessagePart {
  return { type: "output_text", text, annotations: [], logprobs: [] }
}

function refusalPart(refusal: string): MessagePart {
  return { type: "refusal", refusal }
}

export class MessageOutput implements OutputItem {
  private readonly place: ItemPlace
  private readonly parts: Array<{ readonly kind: keyof typeof partKinds; readonly text: GrowingText }> = []

  constructor(place: ItemPlace) {
    this.place = place
    reportAdded(place, this.value("in_progress"))
  }

  append(kind: keyof typeof partKinds, text: string): void {
    if (this.parts.at(-1)?.kind !== kind) {
      this.closePart()
      const { more, name, part } = partKinds[kind]
      const at = { ...this.position(), content_index: this.parts.length }
      this.place.sink.event("response.content_part.added", { ...at, part: part("") })
      const report = this.place.sink.deltas(`${name}.delta`, { ...at, ...more })
      this.parts.push({ kind, text: new GrowingText(report) })
    }
    this.parts.at(-1)?.text.append(text)
  }

  private position() {
    return { item_id: this.place.id, output_index: this.place.index }
  }

  private closePart(): void {
    const last = this.parts.at(-1)
    if (last === undefined) return
    const { member, more, name, part } = partKinds[last.kind]
    const at = { ...this.position(), content_index: this.parts.length - 1 }
    this.place.sink.event(`${name}.done`, { ...at, ...more, [member]: last.text.text })
    this.place.sink.event("response.content_part.done", { ...at, part: part(last.text.text) })
  }

  close(status: ItemStatus): void {
    this.closePart()
    reportDone(this.place, this.value(status))
  }

  value(status: ItemStatus): ResponsesOutputItem {
    const content = this.parts.map(({ kind, text }) => partKinds[kind].part(text.text))
    return { id: this.place.id, type: "message", status, role: "assistant", content }
  }
}

/** A call, of a function or of a custom tool. The input of the latter is read when the call is complete. */
export class CallOutput implements OutputItem {
  private readonly place: ItemPlace
  private readonly callId: string
  private readonly tool: ClientTool
  private readonly written: GrowingText

  constructor(place: ItemPlace, callId: string, tool: ClientTool) {
    this.place = place
    this.callId = callId
    this.tool = tool
    reportAdded(place, this.valueWith("in_progress", ""))
    const report =
      tool.kind === "custom" ? () => {} : place.sink.deltas("response.function_call_arguments.delta", this.position())
    this.written = new GrowingText(report)
  }

  append(fragment: string): void {
    this.written.append(fragment)
  }

  private position() {
    return { item_id: this.place.id, output_index: this.place.index }
  }

  close(status: ItemStatus): void {
    const { sink } = this.place
    const text = this.text()
    const at = this.position()
    if (this.tool.kind === "function") {
      sink.event("response.function_call_arguments.done", { ...at, name: this.tool.name, arguments: text })
    } else {
      if (text !== "") sink.deltas("response.custom_tool_call_input.delta", at)(text)
      sink.event("response.custom_tool_call_input.done", { ...at, input: text })
    }
    reportDone(this.place, this.value(status))
  }

  private text(): string {
    const { text } = this.written
    return this.tool.kind === "function" ? text : customInput(text)
  }

  value(status: ItemStatus): ResponsesOutputItem {
    return this.valueWith(status, this.text())
  }

  private valueWith(status: ItemStatus, text: string): ResponsesOutputItem {
    const { kind, ...named } = this.tool
    const base = { id: this.place.id, status, call_id: this.callId, ...named }
    return kind === "function"
      ? { ...base, type: "function_call", arguments: text }
      : { ...base, type: "custom_tool_call", input: text }
  }
}
