/**
 * The sandbox as a transcription server of OpenAI or of those that copy it. They differ in what they say was used, so
 * it answers as the provider that the key names: some count tokens, some seconds, and some nothing.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { countTokens, type Prompt, type UploadedAudio, type Reply } from "../../Prompt.ts"
import type { SimulatedProtocol } from "../../Wire.ts"
import { openAiWire } from "../openai-chat/Response.ts"
import { read } from "./Request.ts"

/** 100 ms of 16-bit sound at 16 kHz, of which servers make one token. */
const bytesPerToken = 3_200
const tokensPerSecond = 10
/** OpenAI's models that are billed by time. */
const timed = ["whisper-1", "gpt-transcribe"]

interface Count {
  readonly audio: number
  readonly text: number
  readonly output: number
  readonly seconds: number
}

const forms: { readonly [account: string]: (text: string, count: Count, prompt: Prompt, reply: Reply) => JsonObject } =
  {
    groq: (text, _count, _prompt, reply) => ({ text: ` ${text}`, x_groq: { id: `req_${reply.id}` } }),
    mistral: (text, { audio, output, seconds }, { model }) => ({
      model,
      text,
      language: null,
      segments: [],
      // A handful of tokens begins every prompt; audio is counted beside it.
      usage: {
        prompt_audio_seconds: seconds,
        prompt_tokens: 3,
        completion_tokens: output,
        total_tokens: 3 + audio + output,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: audio }
      }
    }),
    openrouter: (text, { audio, output }) => ({
      text,
      usage: { input_tokens: audio, output_tokens: output, total_tokens: audio + output }
    })
  }

const openai = (content: string, { audio, output, seconds, text }: Count, { model }: Prompt): JsonObject => ({
  text: content,
  usage: timed.includes(model)
    ? { type: "duration", seconds }
    : {
        type: "tokens",
        total_tokens: audio + text + output,
        input_tokens: audio + text,
        input_token_details: { text_tokens: text, audio_tokens: audio },
        output_tokens: output
      }
})

const countOf = ({ bytes }: Pick<UploadedAudio, "bytes">, prompt: Prompt, { outputTokens }: Reply): Count => {
  const audio = Math.ceil(bytes / bytesPerToken)
  return {
    audio,
    text: countTokens(prompt.text),
    output: outputTokens,
    seconds: Math.ceil(audio / tokensPerSecond)
  }
}

const answer = (prompt: Prompt, reply: Reply): JsonObject => {
  const { account, bytes } = prompt.recording ?? { account: "", bytes: 0 }
  const form = forms[account] ?? openai
  return form(reply.text.join(""), countOf({ bytes }, prompt, reply), prompt, reply)
}

export const openAiTranscriptionWire: SimulatedProtocol = {
  ...openAiWire,
  path: "/openai/v1/audio/transcriptions",
  read,
  answer
}
