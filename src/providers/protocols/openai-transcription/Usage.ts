/** Token counts of a transcription. OpenAI and Mistral give them different names and different meanings. */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** `undefined` where no tokens are reported: some servers count seconds, most count nothing, and some report zero. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const counts = asObject(fields["usage"]) ?? {}
  const input = asNumber(counts["input_tokens"]) ?? asNumber(counts["prompt_tokens"]) ?? 0
  const output = asNumber(counts["output_tokens"]) ?? asNumber(counts["completion_tokens"]) ?? 0
  const details = asObject(counts["input_token_details"]) ?? asObject(counts["prompt_tokens_details"])
  const audio = asNumber(details?.["audio_tokens"])
  // Mistral counts audio in addition to the prompt, and only its total shows that.
  const beside = (asNumber(counts["total_tokens"]) ?? 0) - input - output
  const usage = fromInclusive({
    prompt: beside === audio ? input + beside : input,
    completion: output,
    // Without details all input counts as audio: most of it is, and audio is never the cheaper kind.
    audioInput: audio ?? input
  })
  return input > 0 ? usage : undefined
}
