/** How users of the Vercel AI SDK call the gateway, with any of its provider packages. */
import { APICallError, generateText, isStepCount, type LanguageModel, Output, streamText, tool } from "ai"

import { at } from "../support/Chat.ts"
import { type ClientRequest, type Client, type ClientError, report, timeInput, weatherInput } from "./ClientSuite.ts"

/** The options that all calls of the SDK share. */
const settingsOf = ({ maxTokens, prompt, signal }: ClientRequest) => ({
  prompt,
  maxRetries: 0,
  ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
  ...(signal !== undefined && { abortSignal: signal })
})

interface Answer {
  readonly text: string
  readonly finishReason: string
  readonly usage: {
    readonly inputTokens: number | undefined
    readonly outputTokens: number | undefined
    readonly raw?: unknown
  }
}

const answerOf = ({ finishReason, text, usage }: Answer) => ({
  text,
  finishReason,
  promptTokens: usage.inputTokens,
  completionTokens: usage.outputTokens,
  cost: at(usage.raw, "cost")
})

/** Reads a stream to its end, and throws the error that it reports. */
export const readToEnd = async (
  stream: Pick<ReturnType<typeof streamText>, "fullStream">,
  onText: (text: string) => void = () => undefined
): Promise<void> => {
  for await (const part of stream.fullStream) {
    if (part.type === "text-delta") onText(part.text)
    if (part.type === "error") throw part.error
    if (part.type === "abort") throw new Error("aborted")
  }
}

/** A failed call throws an `APICallError`; a broken stream throws the error object that the gateway sent. */
const errorOf = (error: unknown): ClientError =>
  APICallError.isInstance(error)
    ? {
        status: error.statusCode,
        code: at(error.data, "error", "code"),
        message: error.message,
        retryAfter: error.responseHeaders?.["retry-after"]
      }
    : { status: undefined, code: at(error, "code"), message: String(at(error, "message")) }

/** The client of the suite for a provider package. `modelOf`: the model of a request. */
export const aiSdkClient = (name: string, modelOf: (request: ClientRequest) => LanguageModel): Client => ({
  name,
  complete: async (request) => answerOf(await generateText({ model: modelOf(request), ...settingsOf(request) })),
  stream: async (request, onText) => {
    const stream = streamText({ model: modelOf(request), onError: () => undefined, ...settingsOf(request) })
    await readToEnd(stream, onText)
    const [text, finishReason, usage] = await Promise.all([stream.text, stream.finishReason, stream.usage])
    return answerOf({ text, finishReason, usage })
  },
  runTools: async (request, tools, stream) => {
    const call = {
      model: modelOf(request),
      ...settingsOf(request),
      stopWhen: isStepCount(3),
      tools: {
        get_weather: tool({ inputSchema: weatherInput, execute: tools.get_weather }),
        get_time: tool({ inputSchema: timeInput, execute: tools.get_time })
      }
    }
    return stream ? await streamText(call).text : (await generateText(call)).text
  },
  completeAsReport: async (request) => {
    const output = Output.object({ schema: report })
    return (await generateText({ model: modelOf(request), output, ...settingsOf(request) })).output
  },
  errorOf,
  finishReasons: { content_filter: "content-filter" }
})
