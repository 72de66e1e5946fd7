/**
 * Watches one answer go by: what the provider says it used, and what reached the client. Whatever happens to the
 * answer, the meter can say what to charge for it.
 */
import { type CompletionEvent, type FinishReason } from "../domain/Completion.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import { isOptOut } from "../domain/Reasoning.ts"
import { textTokens } from "../domain/TokenCount.ts"
import { type MeteredUsage, none, promptTokens, type Usage } from "../domain/Usage.ts"

/** Events that go on to the client. */
export type Delta = Exclude<CompletionEvent, { readonly type: "usage" | "finish" }>

export class Meter {
  finishReason: FinishReason | undefined = undefined
  /** Something was handed on to the client. */
  hasDelivered = false
  private seen: Usage | undefined = undefined
  private produced = ""
  private readonly hidesReasoning: boolean
  private readonly promptEstimate: number
  private readonly outputLimit: number

  constructor(options: {
    readonly request: ChatRequest
    readonly promptTokens: number
    /** The most the model may produce for this call: an estimate never goes beyond it. */
    readonly outputLimit: number
  }) {
    const { reasoning } = options.request
    this.hidesReasoning = reasoning?.exclude === true || isOptOut(reasoning)
    this.promptEstimate = options.promptTokens
    this.outputLimit = options.outputLimit
  }

  /** Takes note of events, and answers those that the client may see. */
  pass(events: ReadonlyArray<CompletionEvent>): Array<Delta> {
    const visible: Array<Delta> = []
    for (const event of events) {
      switch (event.type) {
        case "usage":
          this.seen = event.usage
          break
        case "finish":
          this.finishReason = event.reason
          break
        case "text":
        case "refusal":
          this.produced += event.text
          visible.push(event)
          break
        case "arguments":
          this.produced += event.fragment
          visible.push(event)
          break
        case "tool":
          this.produced += event.name
          visible.push(event)
          break
        case "reasoning":
          this.produced += event.text
          if (!this.hidesReasoning) visible.push(event)
          break
        case "detail":
          if (!this.hidesReasoning || !hasText(event.detail)) visible.push(event)
          break
      }
    }
    if (visible.length > 0) this.hasDelivered = true
    return visible
  }

  /** For an answer that is complete: the provider's own usage, or our count where it gave none. */
  complete(): MeteredUsage {
    if (this.seen !== undefined) return { usage: this.seen, estimated: false }
    return { usage: this.estimate(), estimated: true }
  }

  /**
   * For an answer that the client left. Prompt counts arrive early at some providers and are right; the output count
   * is theirs only at the end, so what was delivered counts when it is more.
   */
  delivered(): MeteredUsage {
    if (this.seen === undefined) return { usage: this.estimate(), estimated: true }
    if (this.finishReason !== undefined) return { usage: this.seen, estimated: false }
    const prompt = promptTokens(this.seen) > 0 ? this.seen : this.estimate()
    const output = Math.max(this.seen.output, this.producedTokens())
    return { usage: { ...prompt, output, reasoning: Math.min(this.seen.reasoning, output) }, estimated: true }
  }

  private estimate(): Usage {
    return { ...none, input: this.promptEstimate, output: this.producedTokens() }
  }

  private producedTokens(): number {
    return Math.min(textTokens(this.produced), this.outputLimit)
  }
}

/** Encrypted and signature-only blocks show nothing, and the next turn needs them. */
const hasText = (detail: { readonly [key: string]: unknown }): boolean =>
  (typeof detail["text"] === "string" && detail["text"] !== "") ||
  (typeof detail["summary"] === "string" && detail["summary"] !== "")
