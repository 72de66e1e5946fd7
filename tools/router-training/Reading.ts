/** Rows as examples: the learner reads a prompt exactly as the router reads a request. */
import { textRequest } from "../../src/domain/Conversation.ts"
import { surfaceOf } from "../../src/routing/SurfaceFeatures.ts"
import { lengthScale, makeTextFeatures, readTextFeatures } from "../../src/routing/TextFeatures.ts"
import { denseInputs } from "../../src/routing/Weights.ts"
import type { Example } from "./Learner.ts"

const features = makeTextFeatures()

export const exampleOf = (prompt: string): Example => {
  readTextFeatures(textRequest(prompt), features)
  const dense = new Float32Array(denseInputs).fill(1)
  surfaceOf(features, dense)
  const buckets = features.touched.slice(0, features.touchedCount)
  const norm = features.total > 0 ? 1 / features.total : 0
  const values = Float32Array.from(buckets, (bucket) => Math.sqrt((features.counts[bucket] ?? 0) * norm))
  return { buckets, values, dense, scale: lengthScale(features.total) }
}
