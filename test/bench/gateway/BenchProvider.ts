/** The provider of the bench: it answers at once, and streams as fast as the connection takes it or a word a second. */
import {
  answerIn,
  answers,
  type Behaviour,
  FakeServer,
  openaiChunk,
  reply
} from "../../support/fake-provider/FakeProvider.ts"

export const streamedChunks = 1_000
const chunksAtOnce = 10

/** The text of a message that asks for a stream of one word. */
export const shortStreamText = "Tell me one word."
/** The text of a message that asks for a stream that never ends by itself. */
export const slowStreamText = "Tell me a word each second."
const slowPauseMillis = 1_000

const greeting = "Hello there, how are you today?"
const usage = { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39 }
const { end, plain, start } = answerIn("openai-chat", { usage })
const headers = { "content-type": "text/event-stream" }

const fast: Behaviour = (response) => {
  const some = openaiChunk({ content: " word" }).repeat(chunksAtOnce)
  response.writeHead(200, headers)
  response.write(Buffer.concat(start))
  let left = streamedChunks / chunksAtOnce
  const write = (): void => {
    if (left-- === 0) return void response.end(Buffer.concat(end))
    response.write(some)
    setImmediate(write)
  }
  write()
}

const short: Behaviour = (response) =>
  void response
    .writeHead(200, headers)
    .end(Buffer.concat([...start, Buffer.from(openaiChunk({ content: "word" })), ...end]))

const slow: Behaviour = (response) => {
  response.writeHead(200, headers)
  response.write(Buffer.concat(start))
  const word = openaiChunk({ content: " word" })
  const timer = setInterval(() => response.write(word), slowPauseMillis)
  response.on("close", () => clearInterval(timer))
}

const transcript = reply(200, {
  text: greeting,
  usage: {
    type: "tokens",
    input_tokens: 14,
    input_token_details: { text_tokens: 0, audio_tokens: 14 },
    output_tokens: 9,
    total_tokens: 23
  }
})

const answered = reply(200, JSON.stringify(plain(greeting)))
// Routing may choose a model of another protocol.
const inOtherProtocol = answers(greeting)

const atOnce: Behaviour = (response, received) => {
  // The text of a form of ten megabytes is never looked at.
  if (received.path.endsWith("/audio/transcriptions")) return transcript(response, received)
  if (!received.path.endsWith("/chat/completions")) return inOtherProtocol(response, received)
  const { text } = received
  if (!text.includes('"stream":true')) return answered(response, received)
  if (text.includes(slowStreamText)) return slow(response, received)
  return (text.includes(shortStreamText) ? short : fast)(response, received)
}

export const serveBenchProvider = async (port: number): Promise<void> =>
  (await FakeServer.start({ port, records: false })).script(atOnce)
