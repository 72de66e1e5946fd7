/** Token counts of a transcription. OpenAI and Mistral give them different names and different meanings. */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** `undefined` where no tokens are reported: some servers count seconds, and most count nothing. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const counts = asObject(fields["usage"]) ?? {}
  const reportedInput = asNumber(counts["input_tokens"]) ?? asNumber(counts["prompt_tokens"])
  const reportedOutput = asNumber(counts["output_tokens"]) ?? asNumber(counts["completion_tokens"])
  if (reportedInput === undefined && reportedOutput === undefined) return undefined
  const [input, output] = [reportedInput ?? 0, reportedOutput ?? 0]
  const details = asObject(counts["input_token_details"]) ?? asObject(counts["prompt_tokens_details"])
  const audio = asNumber(details?.["audio_tokens"])
  // Mistral counts audio in addition to the prompt, and only its total shows that.
  const beside = (asNumber(counts["total_tokens"]) ?? 0) - input - output
  return fromInclusive({
    prompt: beside === audio ? input + beside : input,
    completion: output,
    // Without details all input counts as audio: most of it is, and audio is never the cheaper kind.
    audioInput: audio ?? input
  })
}
