/**
 * A reasoning item of a response while it is written: readable parts, and the blocks that go back to the model in
 * `encrypted_content`.
 */
import type { ResponsesOutputItem } from "../../api/ResponsesAnswer.ts"
import type { ReasoningDetail } from "../../domain/Conversation.ts"
import { detailJoiner } from "../../domain/ReasoningBlocks.ts"
import { GrowingText, type ItemPlace, type OutputItem, reportAdded, reportDone } from "./OutputItem.ts"
import { encodedDetails } from "./ReasoningEnvelope.ts"

/** A piece of readable reasoning: of which part of the item, and whether that is a summary or the reasoning itself. */
export interface ReasoningPiece {
  readonly kind: "summary" | "text"
  /** Pieces of one part have the same key. */
  readonly key: unknown
  readonly text: string
}

interface ReasoningPart {
  readonly kind: ReasoningPiece["kind"]
  readonly key: unknown
  /** Among the parts of its kind. */
  readonly index: number
  readonly text: GrowingText
}

export class ReasoningOutput implements OutputItem {
  private readonly place: ItemPlace
  private readonly parts: Array<ReasoningPart> = []
  private readonly details = detailJoiner()

  constructor(place: ItemPlace) {
    this.place = place
    reportAdded(place, this.value())
  }

  append(piece: ReasoningPiece): void {
    let part = this.parts.at(-1)
    if (part === undefined || part.kind !== piece.kind || part.key !== piece.key) {
      this.closePart()
      part = this.openPart(piece)
      this.parts.push(part)
    }
    part.text.append(piece.text)
  }

  /** Keeps a block of reasoning, or a piece of one, for the next turn. */
  keep(detail: ReasoningDetail): void {
    this.details.append(detail)
  }

  private openPart({ key, kind }: ReasoningPiece): ReasoningPart {
    const { sink } = this.place
    const index = this.parts.filter((part) => part.kind === kind).length
    const at = this.partPosition(kind, index)
    const name = kind === "summary" ? "response.reasoning_summary_text" : "response.reasoning_text"
    sink.event(kind === "summary" ? "response.reasoning_summary_part.added" : "response.content_part.added", {
      ...at,
      part: reasoningPart(kind, "")
    })
    return { kind, key, index, text: new GrowingText(sink.deltas(`${name}.delta`, at)) }
  }

  private partPosition(kind: ReasoningPiece["kind"], index: number) {
    const position = { item_id: this.place.id, output_index: this.place.index }
    return kind === "summary" ? { ...position, summary_index: index } : { ...position, content_index: index }
  }

  private closePart(): void {
    const last = this.parts.at(-1)
    if (last === undefined) return
    const { index, kind } = last
    const { text } = last.text
    const { sink } = this.place
    const at = this.partPosition(kind, index)
    const name = kind === "summary" ? "response.reasoning_summary_text" : "response.reasoning_text"
    sink.event(`${name}.done`, { ...at, text })
    sink.event(kind === "summary" ? "response.reasoning_summary_part.done" : "response.content_part.done", {
      ...at,
      part: reasoningPart(kind, text)
    })
  }

  close(): void {
    this.closePart()
    reportDone(this.place, this.value())
  }

  value(): ResponsesOutputItem {
    const textsOf = (kind: ReasoningPiece["kind"]) =>
      this.parts.flatMap((part) => (part.kind === kind ? [part.text.text] : []))
    const content = textsOf("text").map((text) => ({ type: "reasoning_text", text }) as const)
    return {
      id: this.place.id,
      type: "reasoning",
      summary: textsOf("summary").map((text) => ({ type: "summary_text", text }) as const),
      ...(content.length > 0 && { content }),
      encrypted_content: encodedDetails(this.details.joined)
    }
  }
}

const reasoningPart = (kind: ReasoningPiece["kind"], text: string) => ({
  type: kind === "summary" ? "summary_text" : "reasoning_text",
  text
})
