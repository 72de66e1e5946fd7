/**
 * A provider that remembers what it produced. Each job has a number, which is in its prompt and decides how many tokens
 * it is billed for; so a charge says by its amount alone for which answer it is.
 */
import type { ServerResponse } from "node:http"

import { Effect } from "effect"

import * as Usage from "../../src/domain/Usage.ts"
import * as ScriptedProvider from "../support/ScriptedProvider.ts"

/** `flaky` fails once and then answers; `cut` breaks off in the middle; `hangs` begins a stream that never ends. */
export const fates = ["answers", "answers", "answers", "answers", "flaky", "fails", "cut"] as const
export type Fate = (typeof fates)[number] | "hangs"

/** What the provider did for a job. */
export interface Production {
  /** A part of an answer, or all of it, left the provider. */
  begun: boolean
  /** Answers that were produced to their end. */
  whole: number
  tries: number
}

export const promptOf = (job: number, fate: Fate): string => `job-${job}-${fate}: write something`

/** What the provider says that a job used: no two jobs cost the same. */
export const usageOf = (job: number): Usage.Usage => ({ ...Usage.none, input: 1_000 + job, output: 5 })

const words = ["It ", "was ", "a ", "dark ", "and ", "stormy ", "night."]

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

export class Upstream {
  readonly productions = new Map<number, Production>()
  /** The longest pause before each piece of an answer, in milliseconds. */
  private readonly slowness: number

  constructor(slowness: number) {
    this.slowness = slowness
  }

  /** Stands behind OpenAI's models; answers the variables that put it there. */
  readonly install = Effect.gen({ self: this }, function* () {
    const provider = yield* ScriptedProvider.ScriptedProvider
    yield* provider.script((response, { body, text }) => this.serve(response, text, body["stream"] === true))
    const { OPENAI_API_KEY = "", OPENAI_BASE_URL = "" } = ScriptedProvider.environmentOf(provider)
    return { OPENAI_API_KEY, OPENAI_BASE_URL }
  })

  private async serve(response: ServerResponse, text: string, stream: boolean): Promise<void> {
    const [, number, fate] = /job-(\d+)-(\w+)/.exec(text) ?? []
    const job = Number(number)
    const production = this.productions.get(job) ?? { begun: false, whole: 0, tries: 0 }
    this.productions.set(job, production)
    production.tries++
    await pause(Math.random() * this.slowness * 3)
    if (response.destroyed) return
    if (fate === "fails" || (fate === "flaky" && production.tries === 1)) {
      response.writeHead(500, { "content-type": "application/json" }).end(`{"error":{"message":"scripted"}}`)
      return
    }
    const { input, output } = usageOf(job)
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
    if (stream) return this.stream(response, production, fate, usage)
    if (fate === "cut" || fate === "hangs") {
      response.writeHead(200, { "content-type": "application/json", "content-length": 1_000 }).write(`{"id":"x",`)
      if (fate === "cut") response.destroy()
      return
    }
    const message = { role: "assistant", content: words.join("") }
    const choices = [{ index: 0, message, finish_reason: "stop" }]
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "scripted", choices, usage }))
    production.begun = true
    production.whole++
  }

  private async stream(
    response: ServerResponse,
    production: Production,
    fate: string | undefined,
    usage: ScriptedProvider.Json
  ): Promise<void> {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(ScriptedProvider.openaiChunk({ role: "assistant", content: "" }))
    for (const [index, content] of words.entries()) {
      await pause(Math.random() * this.slowness)
      if (response.destroyed) return
      if (index === 4 && fate === "cut") return void response.destroy()
      if (index === 4 && fate === "hangs") return
      production.begun = true
      response.write(ScriptedProvider.openaiChunk({ content }))
    }
    response.write(ScriptedProvider.openaiChunk({}, "stop"))
    response.end(ScriptedProvider.openaiUsageChunk(usage) + "data: [DONE]\n\n")
    production.whole++
  }
}
