/** A client that writes down what it was told about each of its requests, and believes nothing else. */
import { setTimeout as pause } from "node:timers/promises"
import { inspect } from "node:util"

import { usd } from "../support/TestGateway.ts"
import { type Fate, promptOf } from "./Upstream.ts"

export interface Ask {
  readonly job: number
  readonly fate: Fate
  readonly stream: boolean
  readonly url: string
  readonly key: string
  /** The client leaves after this many packets of a stream, or milliseconds of a plain request. */
  readonly leaveAfter?: number | undefined
}

export interface Told {
  readonly job: number
  readonly stream: boolean
  /** The request id, if an answer began. */
  id?: string
  /**
   * `answered` in full, `refused` for want of credit, `failed` as the gateway said, `stopped` because it had to go,
   * `left`, or `cut` with no word.
   */
  outcome: "answered" | "refused" | "failed" | "stopped" | "left" | "cut" | "unreachable"
  /** `usage.cost`, in picodollars. */
  cost?: bigint
  status?: number
  /** What the client made of a `cut`, for when a suite fails. */
  trouble?: string
  /** Milliseconds since the epoch. */
  at: number
}

const costIn = (text: string): bigint => usd(Number(/"cost":([\d.e+-]+)/.exec(text)?.[1]).toFixed(12))

const readPlain = async (response: Response, told: Told): Promise<void> => {
  const text = await response.text()
  JSON.parse(text)
  told.outcome = "answered"
  told.cost = costIn(text)
}

const end = "data: [DONE]\n\n"

const readStream = async (response: Response, told: Told, leave: () => boolean): Promise<void> => {
  let text = ""
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    if (leave()) return
  }
  // The first end is the only one, and nothing follows it.
  if (text.indexOf(end) !== text.length - end.length) throw new Error(`a wrong end: ${text.slice(-500)}`)
  const failed = text.includes("The gateway was stopped") ? "stopped" : "failed"
  told.outcome = text.includes('"finish_reason":"error"') ? failed : "answered"
  told.cost = costIn(text.slice(text.lastIndexOf('"usage"')))
}

const exchange = async (ask: Ask, told: Told, controller: AbortController): Promise<void> => {
  const response = await fetch(`${ask.url}/v1/chat/completions`, {
    method: "POST",
    signal: controller.signal,
    headers: { authorization: `Bearer ${ask.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: promptOf(ask.job, ask.fate) }],
      max_completion_tokens: 100,
      stream: ask.stream
    })
  })
  told.status = response.status
  const id = response.headers.get("x-request-id")
  if (id !== null) told.id = id
  if (response.status !== 200) {
    await response.text()
    told.outcome = response.status === 402 ? "refused" : "failed"
    return
  }
  if (!ask.stream) return readPlain(response, told)
  let packets = 0
  await readStream(response, told, () => {
    if (ask.leaveAfter === undefined || ++packets < ask.leaveAfter) return false
    told.outcome = "left"
    controller.abort()
    return true
  })
}

/** Asks once, never again, and says how it ended. */
export const ask = async (question: Ask): Promise<Told> => {
  const told: Told = { job: question.job, stream: question.stream, outcome: "cut", at: 0 }
  const controller = new AbortController()
  if (!question.stream && question.leaveAfter !== undefined) {
    void pause(question.leaveAfter).then(() => {
      if (told.at === 0) controller.abort()
    })
  }
  try {
    await exchange(question, told, controller)
  } catch (cause) {
    const refused = cause instanceof Error && /ECONNREFUSED/.test(String(Reflect.get(cause.cause ?? {}, "code")))
    told.outcome = controller.signal.aborted ? "left" : refused ? "unreachable" : "cut"
    if (told.outcome === "cut") told.trouble = inspect(cause)
  }
  told.at = Date.now()
  return told
}
