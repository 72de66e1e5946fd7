/**
 * A script for the fake provider that remembers what it has produced. Each job has a number, which is in its prompt and
 * decides how many tokens the provider reports for it: so the amount of a charge alone says which job it is for.
 */
import type { ServerResponse } from "node:http"

import { Effect } from "effect"

import * as Usage from "../../src/domain/Usage.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"

/**
 * What the provider does with a job. `flaky` fails once and then answers; `cut` breaks off in the middle; `hangs`
 * begins an answer that never ends.
 */
export type Scenario = "answers" | "flaky" | "fails" | "cut" | "hangs"

/** What the provider did for a job. */
export interface Production {
  /** True once a part of an answer has left the provider. */
  begun: boolean
  /** Answers that were produced to their end. */
  completed: number
  attempts: number
}

export const promptOf = (job: number, scenario: Scenario): string => `job-${job}-${scenario}: write something`

/**
 * The usage that the provider reports for a job. No two jobs cost the same, and an answer that is produced again costs
 * less than the first one, because a token of its prompt is cached.
 */
export const usageOf = (job: number, isAgain = false): Usage.Usage => {
  const cacheRead = isAgain ? 1 : 0
  return { ...Usage.none, input: 1_000 + job - cacheRead, cacheRead, output: 5 }
}

const words = ["It ", "was ", "a ", "dark ", "and ", "stormy ", "night."]
/** A stream that is cut or that hangs stops before this word. */
const stopsBefore = 4

export class Jobs {
  readonly productions = new Map<number, Production>()
  private readonly maxPauseMillis: number

  /** `maxPauseMillis`: the longest pause before each part of an answer. */
  constructor(maxPauseMillis: number) {
    this.maxPauseMillis = maxPauseMillis
  }

  /** Makes the fake provider play the jobs, and gives the variables that put it behind OpenAI's models alone. */
  readonly install = Effect.gen({ self: this }, function* () {
    const provider = yield* Fake.FakeProvider
    provider.script((response, received) => this.serve(response, received))
    const { OPENAI_API_KEY = "", OPENAI_BASE_URL = "" } = Fake.environmentOf(provider)
    return { OPENAI_API_KEY, OPENAI_BASE_URL }
  })

  private async serve(response: ServerResponse, received: Fake.Received): Promise<void> {
    const [, number, scenario] = /job-(\d+)-(\w+)/.exec(received.text) ?? []
    const job = Number(number)
    const production = this.productions.get(job) ?? { begun: false, completed: 0, attempts: 0 }
    this.productions.set(job, production)
    production.attempts++
    await this.pause(3)
    if (response.destroyed) return
    if (scenario === "fails" || (scenario === "flaky" && production.attempts === 1))
      return void Fake.error(500)(response, received)
    const { cacheRead, input, output } = usageOf(job, production.completed > 0)
    const usage = {
      prompt_tokens: input + cacheRead,
      completion_tokens: output,
      total_tokens: input + cacheRead + output,
      prompt_tokens_details: { cached_tokens: cacheRead }
    }
    if (received.body["stream"] === true) return this.stream(response, production, scenario, usage)
    if (scenario === "cut" || scenario === "hangs") {
      response.writeHead(200, { "content-type": "application/json", "content-length": 1_000 }).write(`{"id":"x",`)
      if (scenario === "cut") response.destroy()
      return
    }
    void Fake.reply(200, Fake.answerIn("openai-chat", { usage }).plain(words.join("")))(response, received)
    production.begun = true
    production.completed++
  }

  private async stream(
    response: ServerResponse,
    production: Production,
    scenario: string | undefined,
    usage: Fake.Json
  ): Promise<void> {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(Fake.openaiChunk({ role: "assistant", content: "" }))
    for (const [index, content] of words.entries()) {
      await this.pause()
      if (response.destroyed) return
      if (index === stopsBefore && scenario === "cut") return void response.destroy()
      if (index === stopsBefore && scenario === "hangs") return
      production.begun = true
      response.write(Fake.openaiChunk({ content }))
    }
    response.write(Fake.openaiChunk({}, "stop"))
    response.end(Fake.openaiUsageChunk(usage) + Fake.openaiDone)
    production.completed++
  }

  private pause(factor = 1): Promise<void> {
    return Fake.pause(Math.random() * this.maxPauseMillis * factor)
  }
}
