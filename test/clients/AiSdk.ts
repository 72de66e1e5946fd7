/** How users of the Vercel AI SDK call the gateway, whichever provider package makes the model. */
import { APICallError, generateText, isStepCount, type LanguageModel, Output, streamText, tool } from "ai"

import { at } from "../support/Chat.ts"
import { type Ask, type Client, type Raised, report, timeInput, weatherInput } from "./ClientSuite.ts"

/** What the calls of the SDK have in common. */
const settingsOf = ({ maxTokens, prompt, signal }: Ask) => ({
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

const saidBy = ({ finishReason, text, usage }: Answer) => ({
  text,
  finish: finishReason,
  promptTokens: usage.inputTokens,
  completionTokens: usage.outputTokens,
  cost: at(usage.raw, "cost")
})

/** Reads a stream to its end and raises what it reports. */
export const followed = async (
  stream: Pick<ReturnType<typeof streamText>, "fullStream">,
  onText: (text: string) => void = () => undefined
): Promise<void> => {
  for await (const part of stream.fullStream) {
    if (part.type === "text-delta") onText(part.text)
    if (part.type === "error") throw part.error
    if (part.type === "abort") throw new Error("aborted")
  }
}

/** A failed call is an `APICallError`; a broken stream tells the error object as the gateway sent it. */
const read = (error: unknown): Raised =>
  APICallError.isInstance(error)
    ? {
        status: error.statusCode,
        code: at(error.data, "error", "code"),
        message: error.message,
        retryAfter: error.responseHeaders?.["retry-after"]
      }
    : { status: undefined, code: at(error, "code"), message: String(at(error, "message")) }

/** A client of the suite whose models are made by `modelOf`. */
export const aiSdkClient = (name: string, modelOf: (ask: Ask) => LanguageModel): Client => ({
  name,
  ask: async (ask) => saidBy(await generateText({ model: modelOf(ask), ...settingsOf(ask) })),
  stream: async (ask, onText) => {
    const stream = streamText({ model: modelOf(ask), onError: () => undefined, ...settingsOf(ask) })
    await followed(stream, onText)
    const [text, finishReason, usage] = await Promise.all([stream.text, stream.finishReason, stream.usage])
    return saidBy({ text, finishReason, usage })
  },
  runTools: async (ask, tools, stream) => {
    const call = {
      model: modelOf(ask),
      ...settingsOf(ask),
      stopWhen: isStepCount(3),
      tools: {
        get_weather: tool({ inputSchema: weatherInput, execute: tools.get_weather }),
        get_time: tool({ inputSchema: timeInput, execute: tools.get_time })
      }
    }
    return stream ? await streamText(call).text : (await generateText(call)).text
  },
  askForReport: async (ask) => {
    const output = Output.object({ schema: report })
    return (await generateText({ model: modelOf(ask), output, ...settingsOf(ask) })).output
  },
  read,
  finishes: { content_filter: "content-filter" }
})
