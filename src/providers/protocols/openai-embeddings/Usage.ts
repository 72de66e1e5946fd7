/** Token counts of embeddings: of the input alone, as there is no output. */
import { fromInclusive, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

/** `undefined` where no tokens are reported. Some servers have only the total, which is the same. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const counts = asObject(fields["usage"]) ?? {}
  const prompt = asNumber(counts["prompt_tokens"]) ?? asNumber(counts["total_tokens"])
  return prompt === undefined ? undefined : fromInclusive({ prompt, completion: 0 })
}
