/** A client that writes down what it observed of each of its requests: the only evidence a client has of a charge. */
import { setTimeout as pause } from "node:timers/promises"
import { inspect } from "node:util"

import { assert } from "@effect/vitest"

import { driven, NeverSent } from "../support/HttpDriver.ts"
import { usd } from "../support/TestGateway.ts"
import { promptOf, type Scenario } from "./Jobs.ts"

export interface JobRequest {
  readonly job: number
  readonly scenario: Scenario
  readonly stream: boolean
  readonly url: string
  readonly key: string
  /** The client leaves after this many packets of a stream, or milliseconds of a plain request. */
  readonly leaveAfter?: number | undefined
  readonly idempotencyKey?: string | undefined
}

export interface Observation {
  readonly job: number
  readonly stream: boolean
  /** The request has an Idempotency-Key, so that an earlier try of it may have been charged. */
  readonly isKeyed: boolean
  /** The id under which the request was answered, if an answer began. */
  id?: string
  /**
   * `answered`: in full. `refused`: for want of credit. `failed`: with an error. `stopped`: with the error of a gateway
   * that shuts down. `left`: the client closed the connection. `cut`: the connection ended without any message.
   * `unreachable`: no connection was made.
   */
  outcome: "answered" | "refused" | "failed" | "stopped" | "left" | "cut" | "unreachable"
  /** `usage.cost`, in picodollars. */
  cost?: bigint
  status?: number
  /** The exception behind a `cut`, for the message of a suite that fails. */
  exception?: string
  /** When the request ended, in milliseconds since the epoch. */
  at: number
}

/** A repeat may be answered under the id of an earlier try, which only the answer says. */
const readAnswer = (text: string, observation: Observation): void => {
  observation.id = /"chatcmpl-([0-9a-f-]+)"/.exec(text)?.[1] ?? assert.fail(`an answer without an id: ${text}`)
  observation.cost = costIn(text.slice(text.lastIndexOf('"usage"')))
}

const costIn = (text: string): bigint => usd(Number(/"cost":([\d.e+-]+)/.exec(text)?.[1]).toFixed(12))

const readPlain = async (response: Response, observation: Observation): Promise<void> => {
  const text = await response.text()
  JSON.parse(text)
  observation.outcome = "answered"
  readAnswer(text, observation)
}

const end = "data: [DONE]\n\n"

const readStream = async (response: Response, observation: Observation, leaves: () => boolean): Promise<void> => {
  let text = ""
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    if (leaves()) return
  }
  // A stream has one end, and nothing follows it.
  if (text.indexOf(end) !== text.length - end.length) throw new Error(`a wrong end: ${text.slice(-500)}`)
  const failed = text.includes("The gateway was stopped") ? "stopped" : "failed"
  observation.outcome = text.includes('"finish_reason":"error"') ? failed : "answered"
  readAnswer(text, observation)
}

const exchange = async (request: JobRequest, observation: Observation, controller: AbortController): Promise<void> => {
  const response = await driven(`${request.url}/v1/chat/completions`, {
    method: "POST",
    signal: controller.signal,
    retries: 0,
    headers: {
      authorization: `Bearer ${request.key}`,
      "content-type": "application/json",
      ...(request.idempotencyKey !== undefined && { "idempotency-key": request.idempotencyKey })
    },
    body: JSON.stringify({
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: promptOf(request.job, request.scenario) }],
      max_completion_tokens: 100,
      stream: request.stream
    })
  })
  observation.status = response.status
  const id = response.headers.get("x-request-id")
  if (id !== null) observation.id = id
  if (response.status !== 200) {
    await response.text()
    observation.outcome = response.status === 402 ? "refused" : "failed"
    return
  }
  if (!request.stream) return readPlain(response, observation)
  let packets = 0
  await readStream(response, observation, () => {
    if (request.leaveAfter === undefined || ++packets < request.leaveAfter) return false
    observation.outcome = "left"
    controller.abort()
    return true
  })
}

/** Sends the request once, without retries, and reports how it ended. */
export const observe = async (request: JobRequest): Promise<Observation> => {
  const { idempotencyKey, job, stream } = request
  const observation: Observation = { job, stream, isKeyed: idempotencyKey !== undefined, outcome: "cut", at: 0 }
  const controller = new AbortController()
  if (!request.stream && request.leaveAfter !== undefined) {
    void pause(request.leaveAfter).then(() => {
      if (observation.at === 0) controller.abort()
    })
  }
  try {
    await exchange(request, observation, controller)
  } catch (cause) {
    const unreachable = cause instanceof NeverSent
    observation.outcome = controller.signal.aborted ? "left" : unreachable ? "unreachable" : "cut"
    if (observation.outcome === "cut") observation.exception = inspect(cause)
  }
  observation.at = Date.now()
  return observation
}
