/**
 * What the last user message, or the prompt of a transcription, can ask of the sandbox, in square brackets: faults, to
 * see the gateway deal with them, a text of one's own, and tool calls, for which the result of a tool can ask as well.
 * `directives` is the documentation; the README prints it.
 */

export const directives: ReadonlyArray<{ readonly form: string; readonly effect: string }> = [
  { form: "[fault:429] [fault:500] [fault:503] …", effect: "answers with this status" },
  { form: "[fault:429 retry-after=2]", effect: "the same, asking to wait 2 seconds" },
  { form: "[fault:overloaded]", effect: "the provider's own way to say that it is overloaded" },
  { form: "[fault:quota]", effect: "our account with the provider has no money" },
  { form: "[fault:context]", effect: "the prompt is too long for this model" },
  { form: "[fault:refused]", effect: "the provider refuses the content" },
  { form: "[fault:error-in-200]", effect: "status 200 with an error inside" },
  { form: "[fault:html]", effect: "status 200 with a web page" },
  { form: "[fault:truncated-json]", effect: "status 200 with half an answer" },
  { form: "[fault:empty]", effect: "a proper answer that says nothing" },
  { form: "[fault:stall 15s]", effect: "silence before the first output" },
  { form: "[fault:slow 50ms]", effect: "a pause before every token" },
  { form: "[fault:cut after=5]", effect: "the connection drops after 5 tokens" },
  { form: "[fault:length 2000]", effect: "no fault: writes 2000 tokens" },
  {
    form: "[fault:… first]",
    effect: "only at the endpoint that sees this message first: watch the next one take over"
  },
  { form: "[fault:… once]", effect: "only the first time this message is seen within a minute" },
  { form: "[fault:… on=gpt-5-mini]", effect: "only at this model" },
  { form: "[say:some text]", effect: "answers, or transcribes, this and nothing else" },
  { form: "[call:get_weather] [call:a,b]", effect: "calls these tools of the request; a tool's result may ask too" }
]

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

export interface Fault {
  readonly name: FaultName
  /** Of `status`. */
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  /** Of `stall` and `slow`. */
  readonly millis: number
  /** Of `cut` and `length`. */
  readonly tokens: number
  readonly when: "always" | "first" | "once"
  readonly on: string | undefined
}

export interface Directives {
  readonly faults: ReadonlyArray<Fault>
  /** Names of tools to call. */
  readonly calls: ReadonlyArray<string>
  readonly say: string | undefined
  /** The message without its directives. */
  readonly rest: string
}

const pattern = /\[(fault|call|say):([^\][]*)\]/gi

/** Reads the directives of a message. A fault that nobody knows is ignored. */
export const parseDirectives = (text: string): Directives => {
  const found = [...text.matchAll(pattern)].map(([, kind = "", body = ""]) => ({ kind: kind.toLowerCase(), body }))
  return {
    faults: found.flatMap(({ kind, body }) => (kind === "fault" ? faultOf(body.trim().split(/\s+/)) : [])),
    calls: found.flatMap(({ kind, body }) => (kind === "call" ? body.split(",").map((name) => name.trim()) : [])),
    say: found.find(({ kind }) => kind === "say")?.body.trim(),
    rest: text.replaceAll(pattern, "").trim()
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
      on: option("on")
    }
  ]
}

/** The longest pause and the longest text that may be asked for. */
const maxMillis = 600_000
const maxTokens = 100_000

const wholeNumber = (text: string | undefined): number => Math.min(Number(/^\d+/.exec(text ?? "")?.[0] ?? 0), maxTokens)

const millisOf = (text: string | undefined): number => {
  const [, amount = "0", unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text ?? "") ?? []
  return Math.min(Number(amount) * (unit === "ms" ? 1 : unit === "m" ? 60_000 : 1_000), maxMillis)
}
