/** Requests to `POST /v1/embeddings`, for suites that use `TestGateway`. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { at } from "./Chat.ts"
import { type Reply, TestGateway } from "./TestGateway.ts"

export const embeddingPath = "/v1/embeddings"
export const embeddingModel = "text-embedding-3-small"

/** Asks for embeddings. Without a model, that is OpenAI's smallest. */
export const embed = (
  body: object | string,
  headers?: Record<string, string>
): Effect.Effect<Reply, never, TestGateway> =>
  Effect.flatMap(TestGateway, (gateway) =>
    gateway.request(
      "POST",
      embeddingPath,
      typeof body === "string" ? body : { model: embeddingModel, ...body },
      headers
    )
  )

/** The vectors of an answer, decoded if they are in base64. */
export const vectorsIn = (reply: Reply): ReadonlyArray<ReadonlyArray<number>> => {
  assert.strictEqual(reply.status, 200, reply.text)
  const data = reply.at("data")
  assert.isArray(data)
  return (data as ReadonlyArray<unknown>).map((item, index) => {
    assert.deepStrictEqual([at(item, "object"), at(item, "index")], ["embedding", index])
    const embedding = at(item, "embedding")
    if (typeof embedding !== "string") return embedding as ReadonlyArray<number>
    const bytes = Buffer.from(embedding, "base64")
    return Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(4 * place))
  })
}
