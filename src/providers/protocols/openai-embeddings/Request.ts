/**
 * The request for the embeddings of some inputs. Vectors are asked for in base64 where the server has that, whatever
 * the client wants, because they are a quarter as long then and cost little to parse.
 */
import type { EmbeddingWireCall, WireRequest } from "../Protocol.ts"
import { dialects } from "../shared/Dialects.ts"
import type { RequestBody } from "./Body.ts"

/** 2,048 vectors of 4,096 numbers in base64 have 45 MiB. */
const maxAnswerBytes = 64 * 1024 * 1024

export const encode = ({ dialect, request, upstream }: EmbeddingWireCall): WireRequest<RequestBody> => {
  const { base64, dimensions: member } = dialects[dialect].embeddings
  const { dimensions, inputs } = request
  return {
    path: "/embeddings",
    headers: {},
    maxAnswerBytes,
    body: {
      model: upstream,
      input: inputs,
      encoding_format: base64 ? "base64" : undefined,
      ...(dimensions !== undefined && { [member]: dimensions })
    }
  }
}
