/** Rows as examples: the learner reads a prompt exactly as the router reads a request. */
import { textRequest } from "../../src/domain/Conversation.ts"
import { writeSurfaceFeatures } from "../../src/routing/SurfaceFeatures.ts"
import { extractTextFeatures, lengthScale, makeTextFeatures } from "../../src/routing/TextFeatures.ts"
import { denseInputs } from "../../src/routing/Weights.ts"
import type { Example } from "./Learner.ts"

const features = makeTextFeatures()

export const exampleOf = (prompt: string): Example => {
  extractTextFeatures(textRequest(prompt), features)
  const dense = new Float32Array(denseInputs).fill(1)
  writeSurfaceFeatures(features, dense)
  const buckets = features.used.slice(0, features.usedCount)
  const norm = features.total > 0 ? 1 / features.total : 0
  const values = Float32Array.from(buckets, (bucket) => Math.sqrt((features.counts[bucket] ?? 0) * norm))
  return { buckets, values, dense, scale: lengthScale(features.total) }
}
