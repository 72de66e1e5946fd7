/** What the sandbox says. A pure function of the prompt: no clock, no chance, no memory. */
import { sandboxDigest } from "./Digest.ts"
import { type Directives, parseDirectives } from "./Directives.ts"
import { valueFor } from "./JsonSynthesis.ts"
import {
  type ReplyToolCall,
  isTranscriptAskedFor,
  type Prompt,
  type PromptTokens,
  type Reply,
  tokensOf
} from "./Prompt.ts"

/** Characters of a message that are echoed. */
const echoLength = 160

const shortened = (text: string): string => (text.length > echoLength ? `${text.slice(0, echoLength)}…` : text)

export interface Occasion {
  readonly directives: Directives
  readonly promptTokens: PromptTokens
  readonly createdSeconds: number
}

/** The answer to a prompt. */
export const replyTo = (prompt: Prompt, { directives, promptTokens, createdSeconds }: Occasion): Reply => {
  const calls = callsFor(prompt, wishesOf(prompt, directives))
  const isRefused = directives.faults.some(({ name }) => name === "refused")
  const isEmpty = isRefused || directives.faults.some(({ name }) => name === "empty")
  const said = isEmpty || calls.length > 0 ? "" : textFor(prompt, directives)
  const { text, stoppedAt } = stopAt(said, prompt.stop)
  const thoughts = prompt.thinks && !isEmpty ? tokensOf(thoughtsOn(prompt)) : []
  const budget = prompt.maxTokens ?? Infinity
  const thinking = thoughts.slice(0, budget)
  const tokens = tokensOf(text)
  const visible = tokens.slice(0, budget - thinking.length)
  const isCut = thinking.length < thoughts.length || visible.length < tokens.length
  const callTokens = calls.reduce((sum, call) => sum + tokensOf(call.arguments).length + 1, 0)
  return {
    id: sandboxDigest(prompt.text, 24),
    createdSeconds,
    thinking,
    text: visible,
    calls: isCut ? [] : calls,
    finish: isRefused ? "content_filter" : isCut ? "length" : calls.length > 0 ? "tool_calls" : "stop",
    stoppedAt: isCut ? undefined : stoppedAt,
    promptTokens,
    outputTokens: thinking.length + visible.length + (isCut ? 0 : callTokens)
  }
}

const thoughtsOn = (prompt: Prompt): string =>
  `The conversation has ${prompt.messages} messages. The sandbox thinks for show and answers at once.`

/** True for what a sandbox has thought. */
export const isThought = (text: string): boolean => /^The conversation has \d+ messages\. The sandbox/.test(text)

const textFor = (prompt: Prompt, { faults, message, text }: Directives): string => {
  const length = faults.find((fault) => fault.name === "length")?.tokens
  if (length !== undefined) return Array.from({ length }, (_, index) => `word${index + 1}`).join(" ")
  if (text !== undefined) return text
  const heard = heardBy(prompt)
  if (heard !== undefined) return `The sandbox heard ${heard}.`
  if (prompt.toolResult !== undefined) return answered(prompt, `The tool answered: “${shortened(prompt.toolResult)}”.`)
  const inputs = [
    ...(prompt.images > 0 ? [`${prompt.images} image(s)`] : []),
    ...(prompt.audios > 0 ? [`${prompt.audios} audio clip(s)`] : [])
  ]
  return answered(
    prompt,
    `This is the sandbox, a simulated provider, answering as ${prompt.model}. ` +
      `It received ${prompt.messages} message(s)${inputs.length > 0 ? ` with ${inputs.join(" and ")}` : ""}. ` +
      `The last one says: “${shortened(message)}”.`
  )
}

/** What there is to transcribe, if that is what was asked. The sandbox has no ears, so it says how much it got. */
const heardBy = ({ audios, lastUserText, recording }: Prompt): string | undefined => {
  if (recording === undefined)
    return audios > 0 && isTranscriptAskedFor(lastUserText) ? `${audios} audio clip(s)` : undefined
  const { bytes, extension, language } = recording
  return `${bytes} bytes of ${extension}${language === undefined ? "" : ` in ${language}`}`
}

/** The text itself, or JSON where JSON was asked for. */
const answered = (prompt: Prompt, text: string): string => {
  if (prompt.answerSchema === undefined) return text
  const isOpen = Object.keys(prompt.answerSchema).length === 0
  return JSON.stringify(isOpen ? { answer: text } : valueFor(prompt.answerSchema))
}

/** A question wishes for calls once; what a tool answers can wish for more, which makes a loop of several turns. */
const wishesOf = ({ toolResult }: Prompt, { calls }: Directives): ReadonlyArray<string> =>
  toolResult === undefined ? calls : parseDirectives(toolResult).calls

const callsFor = (prompt: Prompt, wished: ReadonlyArray<string>): ReadonlyArray<ReplyToolCall> => {
  const { tools, toolChoice } = prompt
  const byWish = tools.filter(({ name }) => wished.includes(name))
  const chosen =
    toolChoice === "none"
      ? []
      : typeof toolChoice === "object"
        ? tools.filter(({ name }) => name === toolChoice.name)
        : toolChoice === "required" && byWish.length === 0
          ? tools.slice(0, 1)
          : byWish
  return chosen.slice(0, prompt.parallelCalls ? chosen.length : 1).map(({ name, schema }, index) => ({
    id: sandboxDigest(`${prompt.text}:${index}:${name}`, 24),
    name,
    arguments: JSON.stringify(valueFor({ type: "object", ...schema }))
  }))
}

const stopAt = (text: string, stops: ReadonlyArray<string>) => {
  const first = stops
    .flatMap((stop) => {
      const at = stop === "" ? -1 : text.indexOf(stop)
      return at < 0 ? [] : [{ stop, at }]
    })
    .sort((a, b) => a.at - b.at)[0]
  return { text: first === undefined ? text : text.slice(0, first.at), stoppedAt: first?.stop }
}
