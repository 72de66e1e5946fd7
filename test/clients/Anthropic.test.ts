/** The `@anthropic-ai/sdk` package for Node. */
import Anthropic, { APIError } from "@anthropic-ai/sdk"
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod"
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod"
import { assert } from "@effect/vitest"

import { at, user } from "../support/Chat.ts"
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

/** The base URL of Anthropic's clients ends before `/v1`. */
const clientOf = ({ baseUrl, key }: ClientRequest) =>
  new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ""), apiKey: key, authToken: null, maxRetries: 0 })

const bodyOf = ({ maxTokens, model, prompt }: ClientRequest) => ({
  model,
  messages: [user(prompt)],
  max_tokens: maxTokens ?? 1_000
})

const answerOf = ({ content, stop_reason, usage }: Anthropic.Message): ClientAnswer => ({
  text: content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
  finishReason: stop_reason,
  promptTokens: usage.input_tokens,
  completionTokens: usage.output_tokens,
  cost: at(usage, "cost")
})

const client: Client = {
  name: "The @anthropic-ai/sdk package",
  finishReasons: { stop: "end_turn", content_filter: "refusal", length: "max_tokens" },
  complete: async (request) =>
    answerOf(await clientOf(request).messages.create(bodyOf(request), { signal: request.signal ?? null })),
  stream: async (request, onText) => {
    const stream = clientOf(request).messages.stream(bodyOf(request), { signal: request.signal ?? null })
    stream.on("text", onText)
    // The accumulator leaves out members of the usage that it does not know.
    let cost: unknown
    stream.on("streamEvent", (event) => {
      if (event.type === "message_delta") cost = at(event, "usage", "cost")
    })
    return { ...answerOf(await stream.finalMessage()), cost }
  },
  runTools: async (request, tools, stream) => {
    const body = {
      ...bodyOf(request),
      tools: [
        betaZodTool({ name: "get_weather", description: "", inputSchema: weatherInput, run: tools.get_weather }),
        betaZodTool({ name: "get_time", description: "", inputSchema: timeInput, run: tools.get_time })
      ]
    }
    const { messages } = clientOf(request).beta
    const answer = stream
      ? await messages.toolRunner({ ...body, stream: true }).runUntilDone()
      : await messages.toolRunner(body).runUntilDone()
    return answer.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("")
  },
  completeAsReport: async (request) => {
    const format = zodOutputFormat(report)
    const answer = await clientOf(request).messages.parse({ ...bodyOf(request), output_config: { format } })
    return answer.parsed_output
  },
  errorOf: (error) => {
    assert.instanceOf(error, APIError)
    const { headers, message, status } = error
    return { status, code: at(error.error, "error", "code"), message, retryAfter: headers?.get("retry-after") }
  }
}

describeClient(client, onEmbedded)
