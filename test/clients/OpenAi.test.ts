/** The `openai` package for Node, on both engines. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { APIError } from "openai"
import { zodFunction, zodResponseFormat } from "openai/helpers/zod"

import { at, type Json, refusal, timeTool, user } from "../support/Chat.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { answersWith, redactedThinking, textBlock, thinkingBlock, toolUse } from "./AnthropicBlocks.ts"
import {
  type ClientRequest,
  type Client,
  describeClient,
  report,
  type ClientAnswer,
  timeInput,
  weatherInput
} from "./ClientSuite.ts"
import { onBothEngines } from "./EmbeddedGateway.ts"

const clientOf = ({ baseUrl, key }: ClientRequest) => new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 })

const bodyOf = ({ maxTokens, model, prompt }: ClientRequest) => ({
  model,
  messages: [user(prompt)],
  ...(maxTokens !== undefined && { max_completion_tokens: maxTokens })
})

const answerOf = (answer: OpenAI.ChatCompletion): ClientAnswer => ({
  text: answer.choices[0]?.message.content ?? "",
  finishReason: answer.choices[0]?.finish_reason,
  promptTokens: answer.usage?.prompt_tokens,
  completionTokens: answer.usage?.completion_tokens,
  cost: at(answer, "usage", "cost")
})

const client: Client = {
  name: "The openai package",
  complete: async (request) =>
    answerOf(await clientOf(request).chat.completions.create(bodyOf(request), { signal: request.signal ?? null })),
  stream: async (request, onText) => {
    const stream = clientOf(request).chat.completions.stream(bodyOf(request), { signal: request.signal ?? null })
    stream.on("content", (text) => onText(text))
    return answerOf(await stream.finalChatCompletion())
  },
  runTools: async (request, tools, stream) => {
    const { completions } = clientOf(request).chat
    const body = {
      ...bodyOf(request),
      tools: [
        zodFunction({ name: "get_weather", parameters: weatherInput, function: tools.get_weather }),
        zodFunction({ name: "get_time", parameters: timeInput, function: tools.get_time })
      ]
    }
    const runner = stream ? completions.runTools({ ...body, stream: true }) : completions.runTools(body)
    return (await runner.finalContent()) ?? ""
  },
  completeAsReport: async (request) => {
    const format = zodResponseFormat(report, "report")
    const answer = await clientOf(request).chat.completions.parse({ ...bodyOf(request), response_format: format })
    return answer.choices[0]?.message.parsed
  },
  errorOf: (error) => {
    assert.instanceOf(error, APIError)
    const { code, headers, message, status } = error
    return { status, code, message, retryAfter: headers?.get("retry-after") }
  }
}

describeClient(client, onBothEngines)

onBothEngines.sandbox("A loop that reads choices[0] of every chunk", (it) => {
  const prompts = {
    "an answer": "Hello",
    "a filtered answer": "[fault:refused] No.",
    "a cut answer": "[fault:length 90] Go."
  }
  for (const [name, prompt] of Object.entries(prompts))
    it.effect(`lives to the end of ${name} and finds all of it in the last chunk`, () =>
      Effect.gen(function* () {
        const { openai } = yield* TestGateway
        const body = { model: "gpt-4o-mini", messages: [user(prompt)], max_completion_tokens: 20 }
        const finishes = yield* Effect.promise(async () => {
          const found: Array<string> = []
          const stream = await openai.chat.completions.create({ ...body, stream: true })
          for await (const { choices, usage } of stream) {
            // As Chainlit's example and many other loops have it: without a look at how many choices there are.
            const [{ delta, finish_reason }] = choices as [OpenAI.ChatCompletionChunk.Choice]
            assert.strictEqual(finish_reason !== null, usage !== undefined)
            if (finish_reason !== null) found.push(`${finish_reason} ${JSON.stringify(delta)}`)
          }
          return found
        })
        assert.lengthOf(finishes, 1)
        assert.match(finishes[0] ?? "", /^(stop|length|content_filter) \{\}$/)
      })
    )
})

onBothEngines.sandbox("The openai package", (it) => {
  it.effect("throws the error class of each status", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const { openai } = gateway
      const hello = (content: string) => openai.chat.completions.create({ model: "gpt-4o", messages: [user(content)] })
      const unknownKey = openai.withOptions({ apiKey: "tg-nobody" })
      const limited = yield* gateway.tenant("1", { requestsPerMinute: 1 })
      yield* Effect.promise(() => limited.openai.models.list())
      const calls = [
        [OpenAI.AuthenticationError, () => unknownKey.models.list()],
        [OpenAI.BadRequestError, () => hello("[fault:400] Hi")],
        [OpenAI.NotFoundError, () => openai.models.retrieve("gpt-9")],
        [OpenAI.RateLimitError, () => limited.openai.models.list()],
        [OpenAI.InternalServerError, () => hello("[fault:503] Hi")]
      ] as const
      for (const [expected, call] of calls) assert.instanceOf(yield* refusal(call), expected)
    })
  )

  it.effect("has the request id of answers and errors", () =>
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

onBothEngines.fakeProvider("The openai package, putting a message together from its chunks,", (it) => {
  it.effect("keeps the reasoning whole, so that it goes back to Anthropic as it was signed", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const provider = yield* FakeProvider
      const first = [
        thinkingBlock("the clock"),
        redactedThinking("the clock"),
        textBlock("Wait."),
        thinkingBlock("the hands"),
        toolUse("get_time")
      ]
      provider.script(answersWith(...first), answersWith(textBlock("It is noon.")))
      const question = user("What time is it?")
      const asked = {
        model: "claude-sonnet-4-6",
        tools: [timeTool as unknown as OpenAI.ChatCompletionTool],
        reasoning_effort: "high" as const
      }
      const { choices } = yield* Effect.promise(() =>
        openai.chat.completions.stream({ ...asked, messages: [question] }).finalChatCompletion()
      )
      const message = choices[0]?.message
      if (message === undefined) return assert.fail("no message")
      const texts = (at(message, "reasoning_details") as ReadonlyArray<Json>).map(({ text }) => text)
      assert.deepStrictEqual(texts, ["Let me see about the clock.", undefined, "Let me see about the hands."])
      const result = { role: "tool" as const, tool_call_id: message.tool_calls?.[0]?.id ?? "", content: "12:00" }
      yield* Effect.promise(() =>
        openai.chat.completions.stream({ ...asked, messages: [question, message, result] }).finalChatCompletion()
      )
      const [, again] = provider.received
      assert.deepStrictEqual(at(again?.body, "messages", 1, "content"), first)
    })
  )
})
