/**
 * A provider under a test's control: a real server on a free port that keeps what it is sent and answers as told, down
 * to the bytes. It stands behind the OpenAI and the Anthropic models at once and tells them apart by the path.
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { Context, Effect, Layer } from "effect"

import type { Environment } from "./GatewayEnvironment.ts"

export type Json = { readonly [key: string]: unknown }

/** A request as it reached the provider. */
export interface Received {
  readonly path: string
  readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  readonly body: Json
  /** The body as sent. */
  readonly text: string
  /** True once the gateway has closed the connection before the answer was complete. */
  readonly aborted: () => boolean
}

/** What the provider does with one request; not ending the response leaves it hanging. */
export type Behaviour = (response: ServerResponse, received: Received) => void | Promise<void>

export class ScriptedProvider extends Context.Service<
  ScriptedProvider,
  {
    /** Without a path. */
    readonly url: string
    /** Starts over: these things happen in turn, and the last of them ever after; without any, `answers("ok")`. */
    readonly script: (...behaviours: ReadonlyArray<Behaviour>) => Effect.Effect<void>
    /** What was received since the last `script`. */
    readonly received: Effect.Effect<ReadonlyArray<Received>>
  }
>()("test/ScriptedProvider") {}

export const layer: Layer.Layer<ScriptedProvider> = Layer.effect(
  ScriptedProvider,
  Effect.gen(function* () {
    let behaviours: ReadonlyArray<Behaviour> = []
    let received: Array<Received> = []
    const server = createServer((incoming, response) => {
      const chunks: Array<Buffer> = []
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
      incoming.on("end", () => {
        const text = Buffer.concat(chunks).toString()
        let aborted = false
        response.on("close", () => (aborted ||= !response.writableFinished))
        const request: Received = {
          path: incoming.url ?? "",
          headers: incoming.headers,
          body: JSON.parse(text),
          text,
          aborted: () => aborted
        }
        received.push(request)
        const behaviour = behaviours[Math.min(received.length, behaviours.length) - 1] ?? answers("ok")
        void behaviour(response, request)
      })
    })
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    )
    const { port } = server.address() as AddressInfo
    return ScriptedProvider.of({
      url: `http://127.0.0.1:${port}`,
      script: (...next) =>
        Effect.sync(() => {
          behaviours = next
          received = []
        }),
      received: Effect.sync(() => [...received])
    })
  })
)

/** Variables that put the provider behind OpenAI's and Anthropic's models. */
export const environmentOf = (provider: ScriptedProvider["Service"]): Environment => ({
  OPENAI_API_KEY: "sk-openai-of-the-operator",
  OPENAI_BASE_URL: `${provider.url}/v1`,
  ANTHROPIC_API_KEY: "sk-anthropic-of-the-operator",
  ANTHROPIC_BASE_URL: provider.url
})

export const reply =
  (status: number, body: string | Json, headers: { readonly [name: string]: string } = {}): Behaviour =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(typeof body === "string" ? body : JSON.stringify(body))

/** An error as OpenAI sends it. */
export const error = (
  status: number,
  fields: { readonly message?: string; readonly type?: string; readonly code?: string; readonly param?: string } = {},
  headers: { readonly [name: string]: string } = {}
): Behaviour => reply(status, { error: { message: "scripted", type: "scripted", ...fields } }, headers)

/** Sends pieces as they are, with a wait before each but the first, and then ends or leaves the connection open. */
export const pieces =
  (
    texts: ReadonlyArray<string>,
    options: { readonly everyMillis?: number; readonly open?: boolean; readonly cut?: boolean } = {}
  ): Behaviour =>
  async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const [index, text] of texts.entries()) {
      if (index > 0) await new Promise((resolve) => setTimeout(resolve, options.everyMillis ?? 0))
      if (response.destroyed) return
      response.write(text)
    }
    if (options.cut) response.destroy()
    else if (!options.open) response.end()
  }

export const hangs: Behaviour = () => undefined
export const resets: Behaviour = (response) => void response.destroy()

export const dataLine = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

export interface Said {
  /** Members of the message beside its role and content. */
  readonly message?: Json
  readonly finishReason?: string
  /** As the provider's protocol writes it. */
  readonly usage?: Json
}

/** Answers with text, in the protocol that was spoken, as a stream if one was asked for. */
export const answers =
  (text: string, said: Said = {}): Behaviour =>
  (response, received) => {
    const streamed = received.body["stream"] === true
    if (received.path.endsWith("/messages")) {
      return streamed
        ? pieces(anthropicStream(text, said))(response, received)
        : reply(200, anthropicAnswer(text, said))(response, received)
    }
    if (received.path.endsWith("/responses")) {
      return streamed
        ? pieces(responsesStream(text, said))(response, received)
        : reply(200, responsesAnswer(text, said))(response, received)
    }
    return streamed
      ? pieces(openaiStream(text, said))(response, received)
      : reply(200, openaiAnswer(text, said))(response, received)
  }

const openaiUsage: Json = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const openaiAnswer = (text: string, { finishReason = "stop", message, usage = openaiUsage }: Said): Json => ({
  id: "chatcmpl-scripted",
  object: "chat.completion",
  created: 1,
  model: "scripted",
  choices: [{ index: 0, message: { role: "assistant", content: text, ...message }, finish_reason: finishReason }],
  usage
})

const chunk = (members: Json): string =>
  dataLine({ id: "chatcmpl-scripted", object: "chat.completion.chunk", created: 1, model: "scripted", ...members })

/** One chunk of a stream in OpenAI's protocol. */
export const openaiChunk = (delta: Json, finishReason: string | null = null): string =>
  chunk({ choices: [{ index: 0, delta, finish_reason: finishReason }] })

export const openaiUsageChunk = (usage: Json = openaiUsage): string => chunk({ choices: [], usage })

const openaiStream = (text: string, { finishReason = "stop", message, usage = openaiUsage }: Said) => [
  openaiChunk({ role: "assistant", content: "" }),
  openaiChunk({ content: text, ...message }),
  openaiChunk({}, finishReason),
  openaiUsageChunk(usage),
  "data: [DONE]\n\n"
]

/** Usage as OpenAI's chat protocol counts it, under the names of its Responses protocol. */
const responsesUsage = ({
  completion_tokens,
  completion_tokens_details,
  prompt_tokens_details,
  ...usage
}: Json): Json => ({
  input_tokens: usage["prompt_tokens"],
  output_tokens: completion_tokens,
  total_tokens: usage["total_tokens"],
  ...(prompt_tokens_details !== undefined && { input_tokens_details: prompt_tokens_details }),
  ...(completion_tokens_details !== undefined && { output_tokens_details: completion_tokens_details })
})

const responsesAnswer = (text: string, { finishReason = "stop", usage = openaiUsage }: Said): Json => ({
  id: "resp_scripted",
  object: "response",
  created_at: 1,
  model: "scripted",
  status: finishReason === "stop" ? "completed" : "incomplete",
  error: null,
  incomplete_details: finishReason === "length" ? { reason: "max_output_tokens" } : null,
  output: [
    { type: "message", id: "msg_scripted", role: "assistant", status: "completed", content: [responsesText(text)] }
  ],
  usage: responsesUsage(usage)
})

const responsesText = (text: string): Json => ({ type: "output_text", text, annotations: [] })

const responsesStream = (text: string, said: Said) => {
  const response = responsesAnswer(text, said)
  const place = { item_id: "msg_scripted", output_index: 0 }
  const item = { type: "message", id: "msg_scripted", role: "assistant", status: "in_progress", content: [] }
  return [
    namedEvent("response.created", { response: { ...response, status: "in_progress", output: [], usage: null } }),
    namedEvent("response.output_item.added", { output_index: 0, item }),
    namedEvent("response.output_text.delta", { ...place, content_index: 0, delta: text }),
    namedEvent(`response.${String(response["status"])}`, { response })
  ]
}

const anthropicUsage: Json = { input_tokens: 10, output_tokens: 5 }

const anthropicAnswer = (text: string, { finishReason = "end_turn", message, usage = anthropicUsage }: Said): Json => ({
  id: "msg_scripted",
  type: "message",
  role: "assistant",
  model: "scripted",
  content: [{ type: "text", text }],
  stop_reason: finishReason,
  stop_sequence: null,
  usage,
  ...message
})

/** One event of a stream whose events have names, as in Anthropic's protocol and in OpenAI's Responses. */
export const namedEvent = (type: string, members: Json = {}): string =>
  `event: ${type}\n${dataLine({ type, ...members })}`

const anthropicStream = (text: string, { finishReason = "end_turn", usage = anthropicUsage }: Said) => [
  namedEvent("message_start", {
    message: { ...anthropicAnswer("", {}), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  }),
  namedEvent("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  namedEvent("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  namedEvent("content_block_stop", { index: 0 }),
  namedEvent("message_delta", { delta: { stop_reason: finishReason, stop_sequence: null }, usage }),
  namedEvent("message_stop")
]
