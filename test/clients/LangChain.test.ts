/** LangChain.js with `ChatOpenAI` of `@langchain/openai`. */
import { type AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages"
import { tool } from "@langchain/core/tools"
import { ChatOpenAI } from "@langchain/openai"
import { APIError } from "openai"

import { at } from "../support/Chat.ts"
import {
  type ClientRequest,
  type Client,
  describeClient,
  report,
  type ClientAnswer,
  timeInput,
  weatherInput
} from "./ClientSuite.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

const modelOf = ({ baseUrl, key, maxTokens, model }: ClientRequest) =>
  new ChatOpenAI({
    model,
    apiKey: key,
    maxRetries: 0,
    configuration: { baseURL: baseUrl },
    ...(maxTokens !== undefined && { maxTokens })
  })

const optionsOf = ({ signal }: ClientRequest) => (signal === undefined ? {} : { signal })

/** The members of a message that are read here; LangChain does not declare the type of the usage. */
interface Message {
  readonly text: string
  readonly response_metadata: { readonly [name: string]: unknown }
  readonly usage_metadata?: { readonly input_tokens: number; readonly output_tokens: number } | undefined
}

const answerOf = ({ response_metadata, text, usage_metadata }: Message): ClientAnswer => ({
  text,
  finishReason: String(response_metadata["finish_reason"]),
  promptTokens: usage_metadata?.input_tokens,
  completionTokens: usage_metadata?.output_tokens,
  cost: at(response_metadata, "usage", "cost")
})

/**
 * The chunks of a stream, concatenated as LangChain's users do, and the cost in the last of them: LangChain repeats the
 * usage in a chunk of its own, and adds up the numbers in `response_metadata`. `usage_metadata` is counted once.
 */
const concatenated = async (stream: AsyncIterable<AIMessageChunk>, onText: (text: string) => void) => {
  let whole: AIMessageChunk | undefined
  let last: AIMessageChunk | undefined
  for await (const chunk of stream) {
    last = chunk
    if (chunk.text !== "") onText(chunk.text)
    whole = whole === undefined ? chunk : whole.concat(chunk)
  }
  if (whole === undefined) throw new Error("the stream was empty")
  return { whole, cost: at(last, "response_metadata", "usage", "cost") }
}

const client: Client = {
  name: "LangChain",
  complete: async (request) => answerOf(await modelOf(request).invoke(request.prompt, optionsOf(request))),
  stream: async (request, onText) => {
    const stream = await modelOf(request).stream(request.prompt, optionsOf(request))
    const { cost, whole } = await concatenated(stream, onText)
    return { ...answerOf(whole), cost }
  },
  runTools: async (request, tools, stream) => {
    const own = {
      get_weather: tool(tools.get_weather, { name: "get_weather", schema: weatherInput }),
      get_time: tool(tools.get_time, { name: "get_time", schema: timeInput })
    }
    const model = modelOf(request).bindTools(Object.values(own))
    const messages: Array<BaseMessage> = [new HumanMessage(request.prompt)]
    for (let turn = 0; turn < 3; turn++) {
      const answer = stream
        ? (await concatenated(await model.stream(messages), () => undefined)).whole
        : await model.invoke(messages)
      if (answer.tool_calls === undefined || answer.tool_calls.length === 0) return answer.text
      messages.push(answer)
      for (const { args, id = "", name } of answer.tool_calls) {
        const call = { type: "tool_call", id, name } as const
        if (name === "get_weather")
          messages.push(await own.get_weather.invoke({ ...call, args: weatherInput.parse(args) }))
        else messages.push(await own.get_time.invoke({ ...call, args: {} }))
      }
    }
    throw new Error("no answer after three turns")
  },
  completeAsReport: (request) =>
    modelOf(request).withStructuredOutput(report, { method: "jsonSchema" }).invoke(request.prompt),
  errorOf: (error) => {
    if (!(error instanceof APIError)) throw error
    const { code, headers, message, status } = error
    return { status, code, message, retryAfter: headers?.get("retry-after") }
  }
}

describeClient(client, onEmbedded)
