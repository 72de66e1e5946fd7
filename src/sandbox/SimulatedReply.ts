/**
 * The reply of the sandbox to a request, whatever the wire protocol. It is a pure function of the request, its
 * directives and the cache: without a clock and without randomness, so the same request gets the same answer.
 */
import { sandboxDigest } from "./Digest.ts"
import { type DirectedCall, type Directives, parseDirectives } from "./Directives.ts"
import { schemaExample } from "./SchemaExample.ts"
import { requestsTranscript, type SimulatedRequest } from "./SimulatedRequest.ts"

/** Prompt tokens by the price that a provider bills them at. */
export interface PromptTokens {
  /** Tokens that were neither read from the cache nor written to it. */
  readonly fresh: number
  readonly cacheRead: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
}

export const totalPromptTokens = (tokens: PromptTokens): number =>
  tokens.fresh + tokens.cacheRead + tokens.cacheWrite5m + tokens.cacheWrite1h

/** A tool call that the sandbox makes. */
export interface ReplyToolCall {
  /** The protocol puts its own prefix before it. */
  readonly id: string
  readonly name: string
  /** A JSON object as text. */
  readonly arguments: string
}

/** A reply in no particular wire format. */
export interface SimulatedReply {
  /** The protocol puts its own prefix before it. */
  readonly id: string
  readonly createdSeconds: number
  /** One element for each token. */
  readonly reasoning: ReadonlyArray<string>
  /** One element for each token. */
  readonly text: ReadonlyArray<string>
  readonly toolCalls: ReadonlyArray<ReplyToolCall>
  readonly finishReason: "stop" | "length" | "tool_calls" | "content_filter"
  /** The stop sequence that ended the text. */
  readonly stopSequence: string | undefined
  readonly promptTokens: PromptTokens
  /** Tokens of reasoning, text and tool calls together. */
  readonly outputTokens: number
}

/** All that a reply depends on beside the request. */
export interface ReplyContext {
  /** The directives of the last user message, with the faults that apply. */
  readonly directives: Directives
  readonly promptTokens: PromptTokens
  readonly createdSeconds: number
}

/** The reply to a request. */
export const replyTo = (
  request: SimulatedRequest,
  { directives, promptTokens, createdSeconds }: ReplyContext
): SimulatedReply => {
  const calls = toolCallsFor(request, calledTools(request, directives))
  const isRefused = directives.faults.some(({ name }) => name === "refused")
  const isEmpty = isRefused || directives.faults.some(({ name }) => name === "empty")
  const content = isEmpty || calls.length > 0 ? "" : textFor(request, directives)
  const { text, stopSequence } = cutAtStop(content, request.stopSequences)
  const wantedReasoning = request.reasons && !isEmpty ? tokensOf(reasoningFor(request)) : []
  const limit = request.maxTokens ?? Infinity
  const reasoning = wantedReasoning.slice(0, limit)
  const wantedText = tokensOf(text)
  const visible = wantedText.slice(0, limit - reasoning.length)
  const isCut = reasoning.length < wantedReasoning.length || visible.length < wantedText.length
  const callTokens = calls.reduce((sum, call) => sum + tokensOf(call.arguments).length + 1, 0)
  return {
    id: sandboxDigest(request.promptText, 24),
    createdSeconds,
    reasoning,
    text: visible,
    toolCalls: isCut ? [] : calls,
    finishReason: isRefused ? "content_filter" : isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop",
    stopSequence: isCut ? undefined : stopSequence,
    promptTokens,
    outputTokens: reasoning.length + visible.length + (isCut ? 0 : callTokens)
  }
}

const reasoningFor = ({ messageCount }: SimulatedRequest): string =>
  `The conversation has ${messageCount} messages. The sandbox thinks for show and answers at once.`

/** True for reasoning that the sandbox wrote. */
export const isReasoning = (text: string): boolean => /^The conversation has \d+ messages\. The sandbox/.test(text)

/** How many characters of a message are echoed. */
const echoLength = 160

const shortened = (text: string): string => (text.length > echoLength ? `${text.slice(0, echoLength)}…` : text)

const textFor = (request: SimulatedRequest, { faults, message, text }: Directives): string => {
  const length = faults.find((fault) => fault.name === "length")?.tokens
  if (length !== undefined) return Array.from({ length }, (_, index) => `word${index + 1}`).join(" ")
  if (text !== undefined) return text
  const audio = transcribedAudio(request)
  if (audio !== undefined) return `The sandbox heard ${audio}.`
  if (request.toolResult !== undefined)
    return asRequested(request, `The tool answered: “${shortened(request.toolResult)}”.`)
  const inputs = [
    ...(request.imageCount > 0 ? [`${request.imageCount} image(s)`] : []),
    ...(request.audioCount > 0 ? [`${request.audioCount} audio clip(s)`] : [])
  ]
  return asRequested(
    request,
    `This is the sandbox, a simulated provider, answering as ${request.model}. ` +
      `It received ${request.messageCount} message(s)${inputs.length > 0 ? ` with ${inputs.join(" and ")}` : ""}. ` +
      `The last one says: “${shortened(message)}”.`
  )
}

/** The audio of a request for a transcript, in words: the sandbox cannot listen, so it reports how much it received. */
const transcribedAudio = ({ audioCount, lastUserText, recording }: SimulatedRequest): string | undefined => {
  if (recording === undefined)
    return audioCount > 0 && requestsTranscript(lastUserText) ? `${audioCount} audio clip(s)` : undefined
  const { bytes, extension, language } = recording
  return `${bytes} bytes of ${extension}${language === undefined ? "" : ` in ${language}`}`
}

/** The text itself, or JSON when the request asks for it. */
const asRequested = ({ responseSchema }: SimulatedRequest, text: string): string => {
  if (responseSchema === undefined) return text
  const isOpen = Object.keys(responseSchema).length === 0
  return JSON.stringify(isOpen ? { answer: text } : schemaExample(responseSchema))
}

/**
 * The tools to call. After the result of a tool, the directives of the result count and no longer those of
 * the message, so that a loop ends; a result with directives makes a loop of several turns.
 */
const calledTools = ({ toolResult }: SimulatedRequest, { calls }: Directives): ReadonlyArray<DirectedCall> =>
  toolResult === undefined ? calls : parseDirectives(toolResult).calls

const toolCallsFor = (
  request: SimulatedRequest,
  directed: ReadonlyArray<DirectedCall>
): ReadonlyArray<ReplyToolCall> => {
  const { tools, toolChoice } = request
  const byName = new Map(directed.map((call) => [call.name, call]))
  const named = tools.filter(({ name }) => byName.has(name))
  const chosen =
    toolChoice === "none"
      ? []
      : typeof toolChoice === "object"
        ? tools.filter(({ name }) => name === toolChoice.name)
        : toolChoice === "required" && named.length === 0
          ? tools.slice(0, 1)
          : named
  return chosen.slice(0, request.parallelToolCalls ? chosen.length : 1).map(({ name, schema }, index) => ({
    id: sandboxDigest(`${request.promptText}:${index}:${name}`, 24),
    name,
    arguments: byName.get(name)?.arguments ?? JSON.stringify(schemaExample({ type: "object", ...schema }))
  }))
}

/** The text up to the first of the stop sequences. */
const cutAtStop = (text: string, stopSequences: ReadonlyArray<string>) => {
  const first = stopSequences
    .flatMap((stop) => {
      const at = stop === "" ? -1 : text.indexOf(stop)
      return at < 0 ? [] : [{ stop, at }]
    })
    .sort((a, b) => a.at - b.at)[0]
  return { text: first === undefined ? text : text.slice(0, first.at), stopSequence: first?.stop }
}

/** The tokens of an answer: each word with the white space before it. */
const tokensOf = (text: string): ReadonlyArray<string> => text.match(/\s*\S+|\s+$/g) ?? []
