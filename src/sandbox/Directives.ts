/**
 * The directives that a message can carry, in square brackets: faults to be injected, a text to be answered, tools to
 * be called. The sandbox reads them in the last user message, in the prompt of a transcription and in texts to embed;
 * the result of a tool may ask for further calls. `directives` documents every form, and the published table is
 * generated from it.
 */
import { Option, Schema } from "effect"

interface DirectiveDocumentation {
  /** Examples of the directive, as a user writes it. */
  readonly forms: ReadonlyArray<string>
  readonly effect: string
}

/** Every directive, with what it does, as `docs/failover.md` lists them. */
export const directives: ReadonlyArray<DirectiveDocumentation> = [
  { forms: ["[fault:429]", "[fault:500]", "[fault:503]"], effect: "Answers with this status, from 400 to 599." },
  { forms: ["[fault:429 retry-after=2]"], effect: "The same, with a `retry-after` of 2 seconds." },
  { forms: ["[fault:overloaded]"], effect: "The provider is overloaded, in the words of its protocol." },
  { forms: ["[fault:quota]"], effect: "The operator's account at the provider has no credit." },
  { forms: ["[fault:context]"], effect: "The prompt is too long for the model." },
  { forms: ["[fault:refused]"], effect: "The provider refuses the content." },
  { forms: ["[fault:error-in-200]"], effect: "Answers with status 200 and an error in the body or the stream." },
  { forms: ["[fault:html]"], effect: "Answers with status 200 and a web page." },
  { forms: ["[fault:truncated-json]"], effect: "Answers with status 200 and half a body." },
  { forms: ["[fault:empty]"], effect: "Answers properly, without any content." },
  { forms: ["[fault:stall 15s]"], effect: "Is silent for 15 seconds before the first output." },
  { forms: ["[fault:slow 50ms]"], effect: "Pauses for 50 milliseconds before every token." },
  { forms: ["[fault:cut after=5]"], effect: "Drops the connection after 5 tokens." },
  { forms: ["[fault:length 2000]"], effect: "No fault: answers with 2000 tokens." },
  {
    forms: ["[fault:500 first]"],
    effect: "The fault occurs only at the endpoint that receives the message first, so that another one takes over."
  },
  { forms: ["[fault:500 once]"], effect: "The fault occurs only once a minute for the same message." },
  { forms: ["[fault:500 on=gpt-5-mini]"], effect: "The fault occurs only at this model." },
  { forms: ["[say:some text]"], effect: "Answers, or transcribes, this text and nothing else." },
  {
    forms: ["[call:get_weather]", "[call:a,b]"],
    effect: "Calls these tools of the request, with examples of arguments. The result of a tool may contain it too."
  },
  { forms: ['[call:get_weather {"city":"Bern"}]'], effect: "Calls this tool with these arguments, a JSON object." }
]

/** The faults that the sandbox can inject. */
export const faultNames = [
  "status",
  "overloaded",
  "quota",
  "context",
  "refused",
  "error-in-200",
  "html",
  "truncated-json",
  "empty",
  "stall",
  "slow",
  "cut",
  "length"
] as const
export type FaultName = (typeof faultNames)[number]

/** A fault that a message asks for, with its parameters. */
export interface Fault {
  readonly name: FaultName
  /** The HTTP status, for `status` only. */
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  /** The duration, for `stall` and `slow` only. */
  readonly millis: number
  /** The number of tokens, for `cut` and `length` only. */
  readonly tokens: number
  readonly when: "always" | "first" | "once"
  /** The only model at which the fault occurs. */
  readonly model: string | undefined
}

/** A tool to call, by name. Without arguments it gets an example of them. */
export interface DirectedCall {
  readonly name: string
  /** A JSON object as text. */
  readonly arguments?: string
}

/** What the directives of a message ask for. */
export interface Directives {
  readonly faults: ReadonlyArray<Fault>
  /** The tools to call. */
  readonly calls: ReadonlyArray<DirectedCall>
  /** The text to answer with. */
  readonly text: string | undefined
  /** The message without its directives. */
  readonly message: string
}

const pattern = /\[(fault|call|say):([^\][]*)\]/gi
/**
 * A call with its arguments, whose strings may contain brackets. What is longer than the bound, or has objects within
 * objects of objects, is left as text: a message can begin any number of these.
 */
const quoted = String.raw`"(?:[^"\\]|\\.){0,2000}"`
const inner = String.raw`\{(?:[^{}"]|${quoted}){0,2000}\}`
const callWithArguments = new RegExp(
  String.raw`\[call:\s*([\w-]{1,64})\s+(\{(?:[^{}"]|${quoted}|${inner}){0,2000}\})\s*\]`,
  "gis"
)

const parsedJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** The directives of a message. Unknown faults are ignored. */
export const parseDirectives = (message: string): Directives => {
  const calls: Array<DirectedCall> = []
  const text = message.replaceAll(callWithArguments, (directive, name: string, json: string) => {
    if (Option.isNone(parsedJson(json))) return directive
    calls.push({ name, arguments: json })
    return ""
  })
  const found = [...text.matchAll(pattern)].map(([, kind = "", body = ""]) => ({ kind: kind.toLowerCase(), body }))
  for (const { body, kind } of found)
    if (kind === "call") for (const name of body.split(",")) calls.push({ name: name.trim() })
  return {
    faults: found.flatMap(({ kind, body }) => (kind === "fault" ? faultOf(body.trim().split(/\s+/)) : [])),
    calls,
    text: found.find(({ kind }) => kind === "say")?.body.trim(),
    message: text.replaceAll(pattern, "").trim()
  }
}

const faultOf = ([head = "", ...words]: ReadonlyArray<string>): ReadonlyArray<Fault> => {
  const status = /^[45]\d\d$/.test(head) ? Number(head) : 0
  const name = status > 0 ? "status" : faultNames.find((known) => known === head.toLowerCase())
  if (name === undefined) return []
  const option = (key: string) => words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1)
  const amount = words.find((word) => /^\d/.test(word))
  const retryAfter = option("retry-after")
  return [
    {
      name,
      status,
      retryAfterSeconds: retryAfter === undefined ? undefined : wholeNumber(retryAfter),
      millis: millisOf(amount),
      tokens: wholeNumber(option("after") ?? amount),
      when: words.includes("first") ? "first" : words.includes("once") ? "once" : "always",
      model: option("on")
    }
  ]
}

/** Upper bounds of the pause and of the number of tokens that a message can ask for. */
const maxMillis = 600_000
const maxTokens = 100_000

const wholeNumber = (text: string | undefined): number => Math.min(Number(/^\d+/.exec(text ?? "")?.[0] ?? 0), maxTokens)

const millisOf = (text: string | undefined): number => {
  const [, amount = "0", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text ?? "") ?? []
  return Math.min(Number(amount) * (unit === "ms" ? 1 : unit === "m" ? 60_000 : 1_000), maxMillis)
}
