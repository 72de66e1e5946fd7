/** The `openai` package for Node, on both engines. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { APIError } from "openai"
import { zodFunction, zodResponseFormat } from "openai/helpers/zod"

import { at, refusal, user } from "../support/Chat.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { type Ask, type Client, describeClient, report, type Said, timeInput, weatherInput } from "./ClientSuite.ts"
import { onBothEngines } from "./EmbeddedGateway.ts"

const clientOf = ({ baseUrl, key }: Ask) => new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 })

const bodyOf = ({ maxTokens, model, prompt }: Ask) => ({
  model,
  messages: [user(prompt)],
  ...(maxTokens !== undefined && { max_completion_tokens: maxTokens })
})

const saidBy = (answer: OpenAI.ChatCompletion): Said => ({
  text: answer.choices[0]?.message.content ?? "",
  finish: answer.choices[0]?.finish_reason,
  promptTokens: answer.usage?.prompt_tokens,
  completionTokens: answer.usage?.completion_tokens,
  cost: at(answer, "usage", "cost")
})

const client: Client = {
  name: "The openai package",
  ask: async (ask) => saidBy(await clientOf(ask).chat.completions.create(bodyOf(ask), { signal: ask.signal ?? null })),
  stream: async (ask, onText) => {
    const stream = clientOf(ask).chat.completions.stream(bodyOf(ask), { signal: ask.signal ?? null })
    stream.on("content", (text) => onText(text))
    return saidBy(await stream.finalChatCompletion())
  },
  runTools: async (ask, tools, stream) => {
    const { completions } = clientOf(ask).chat
    const body = {
      ...bodyOf(ask),
      tools: [
        zodFunction({ name: "get_weather", parameters: weatherInput, function: tools.get_weather }),
        zodFunction({ name: "get_time", parameters: timeInput, function: tools.get_time })
      ]
    }
    const runner = stream ? completions.runTools({ ...body, stream: true }) : completions.runTools(body)
    return (await runner.finalContent()) ?? ""
  },
  askForReport: async (ask) => {
    const format = zodResponseFormat(report, "report")
    const answer = await clientOf(ask).chat.completions.parse({ ...bodyOf(ask), response_format: format })
    return answer.choices[0]?.message.parsed
  },
  read: (error) => {
    assert.instanceOf(error, APIError)
    const { code, headers, message, status } = error
    return { status, code, message, retryAfter: headers?.get("retry-after") }
  }
}

describeClient(client, onBothEngines)

onBothEngines.sandbox("The openai package, by its classes", (it) => {
  it.effect("raises the class that its users catch", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const { openai } = gateway
      const hello = (content: string) => openai.chat.completions.create({ model: "gpt-4o", messages: [user(content)] })
      const stranger = openai.withOptions({ apiKey: "tg-nobody" })
      const slow = yield* gateway.tenant("1", { requestsPerMinute: 1 })
      yield* Effect.promise(() => slow.openai.models.list())
      const calls = [
        [OpenAI.AuthenticationError, () => stranger.models.list()],
        [OpenAI.BadRequestError, () => hello("[fault:400] Hi")],
        [OpenAI.NotFoundError, () => openai.models.retrieve("gpt-9")],
        [OpenAI.RateLimitError, () => slow.openai.models.list()],
        [OpenAI.InternalServerError, () => hello("[fault:503] Hi")]
      ] as const
      for (const [expected, call] of calls) assert.instanceOf(yield* refusal(call), expected)
    })
  )

  it.effect("tells its users the request id", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const answer = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "gpt-4o", messages: [user("Hello")] })
      )
      assert.strictEqual(answer.id, `chatcmpl-${answer._request_id}`)
      const error = yield* refusal(() => openai.models.retrieve("gpt-9"))
      assert.match(error.requestID ?? "", /^[0-9a-f-]{36}$/)
    })
  )
})
