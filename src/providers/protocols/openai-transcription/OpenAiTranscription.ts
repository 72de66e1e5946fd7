/** OpenAI's audio transcriptions, for OpenAI and for every server that copies it. */
import type { TranscriptionProtocol } from "../Protocol.ts"
import { failureOfResponse } from "./Errors.ts"
import { encode } from "./Request.ts"
import { decode } from "./Response.ts"

export const openAiTranscription: TranscriptionProtocol = {
  fields: { file: "sent", language: "sent", prompt: "sent", temperature: "sent" },
  encode,
  decode,
  failure: failureOfResponse
}
