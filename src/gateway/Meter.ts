/**
 * Counts what one answer consumes while its events pass by: the usage that the provider reports, and what reaches the
 * client. However the answer ends, the meter knows the usage to charge.
 */
import { type CompletionEvent, type FinishReason, isOutput } from "../domain/Completion.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import { isOptOut } from "../domain/Reasoning.ts"
import { audioTokens, textTokens } from "../domain/TokenCount.ts"
import {
  isPlausible,
  type MeteredUsage,
  meteredUsage,
  none,
  promptTokens,
  type Usage,
  type UsageBounds
} from "../domain/Usage.ts"

/** Events that go on to the client. */
export type Delta = Exclude<CompletionEvent, { readonly type: "usage" | "finish" }>

/** Meters one answer. It holds state: pass every event to it once, in order. */
export class Meter {
  /** Set once the provider has finished; it stays undefined while the answer is incomplete. */
  finishReason: FinishReason | undefined = undefined
  /** The stop sequence at which the answer ended, where that is known. */
  stopSequence: string | undefined = undefined
  /** True once the client was sent any output. */
  hasDelivered = false
  private reported: Usage | undefined = undefined
  private outputText = ""
  private hasOutput = false
  private readonly request: ChatRequest
  private readonly hidesReasoning: boolean
  private readonly promptEstimate: number
  private readonly outputLimit: number
  private readonly bounds: UsageBounds

  constructor(options: {
    readonly request: ChatRequest
    /** Estimated tokens of the prompt. */
    readonly promptTokens: number
    /** The most tokens that the model may produce for this call. An estimate never exceeds it. */
    readonly outputLimit: number
    /** What a provider reports beyond them is not believed. */
    readonly bounds: UsageBounds
  }) {
    const { reasoning } = options.request
    this.request = options.request
    this.hidesReasoning = reasoning?.exclude === true || isOptOut(reasoning)
    this.promptEstimate = options.promptTokens
    this.outputLimit = options.outputLimit
    this.bounds = options.bounds
  }

  /** Counts the events and returns those that the client may see. */
  pass(events: ReadonlyArray<CompletionEvent>): Array<Delta> {
    const visible: Array<Delta> = []
    for (const event of events) {
      this.hasOutput ||= isOutput(event)
      switch (event.type) {
        case "usage":
          this.reported = event.usage
          break
        case "finish":
          this.finishReason = event.reason
          this.stopSequence = event.stopSequence
          break
        case "text":
        case "refusal":
          this.outputText += event.text
          visible.push(event)
          break
        case "arguments":
          this.outputText += event.fragment
          visible.push(event)
          break
        case "tool":
          this.outputText += event.name
          visible.push(event)
          break
        case "reasoning":
          this.outputText += event.text
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

  /** The usage of a complete answer: as the provider reported it, as far as it can be right, else counted here. */
  complete(): MeteredUsage {
    const { bounds, hasOutput, reported } = this
    return meteredUsage({ reported, counted: () => this.estimate(), bounds, hasOutput })
  }

  /**
   * The usage of an answer whose client left. Some providers report the prompt early, and that count is final. Their
   * count of the output is final only at the end, so until then the output delivered counts if it is more.
   */
  delivered(): MeteredUsage {
    const { bounds, reported } = this
    if (this.finishReason !== undefined || (reported !== undefined && !isPlausible(reported, bounds)))
      return this.complete()
    const own = this.estimate()
    if (reported === undefined) return { usage: own, estimated: true }
    const prompt = promptTokens(reported) > 0 ? reported : own
    const output = Math.max(reported.output, own.output)
    return { usage: { ...prompt, output, reasoning: Math.min(reported.reasoning, output) }, estimated: true }
  }

  /** The usage of an answer that is not charged, as far as the provider reported it and can be right. */
  uncharged(): Usage | undefined {
    const { bounds, reported } = this
    return reported !== undefined && isPlausible(reported, bounds) ? this.delivered().usage : undefined
  }

  private estimate(): Usage {
    const audioInput = Math.min(audioTokens(this.request), this.promptEstimate)
    return { ...none, input: this.promptEstimate - audioInput, audioInput, output: this.outputTokens() }
  }

  private outputTokens(): number {
    return Math.min(textTokens(this.outputText), this.outputLimit)
  }
}

/** False for encrypted blocks and bare signatures: they reveal nothing, and the next turn needs them. */
const hasText = (detail: { readonly [key: string]: unknown }): boolean =>
  (typeof detail["text"] === "string" && detail["text"] !== "") ||
  (typeof detail["summary"] === "string" && detail["summary"] !== "")
