/**
 * OpenAI's Responses API as a protocol of clients: `POST /v1/responses`. Nothing is stored, and a streamed answer adds
 * up to the plain one.
 */
import type { LastItem } from "../../gateway/Settlement.ts"
import { keepAliveComment } from "../chat/ChatAnswer.ts"
import type { ClientProtocol, Envelope, StreamEncoder, StreamHead } from "../completion/ClientProtocol.ts"
import { EventWriter, noEvents } from "./EventSink.ts"
import {
  begunMembers,
  failedMembers,
  isCut,
  itemIdOf,
  lastingMembers,
  settledMembers,
  type VaryingMembers
} from "./ResponseBody.ts"
import { ResponseOutput } from "./ResponseOutput.ts"
import type { ResponsesAsked } from "./ResponsesAsked.ts"
import { readResponsesBody } from "./ResponsesBody.ts"

export const responsesProtocol: ClientProtocol<ResponsesAsked> = {
  endpoint: "responses",
  read: (body, context, headers) =>
    // Codex names its conversations in a header of its own.
    readResponsesBody(body, { ...context, sessionHeader: context.sessionHeader ?? headers["session-id"] }),
  plain: (envelope, answer, { repeated, tools }) => {
    const output = new ResponseOutput({ itemId: itemIdOf(envelope.id), tools, sink: noEvents })
    for (const delta of answer.output) output.append(delta)
    output.finish(isCut(answer.finishReason))
    return { ...lastingMembers(envelope, answer, repeated), ...settledMembers(answer, output.values()) }
  },
  stream: (envelope, head, asked) => responsesEncoder(envelope, head, asked),
  keepAlive: keepAliveComment
}

/** Encodes a streamed answer. What is the same in all response objects is serialised once. */
const responsesEncoder = (envelope: Envelope, head: StreamHead, { repeated, tools }: ResponsesAsked): StreamEncoder => {
  const writer = new EventWriter()
  const output = new ResponseOutput({ itemId: itemIdOf(envelope.id), tools, sink: writer })
  let lasting: string | undefined
  const writeResponse = (type: string, varying: VaryingMembers): void => {
    lasting ??= JSON.stringify(lastingMembers(envelope, head, repeated)).slice(0, -1)
    writer.json(type, `"response":${lasting},${JSON.stringify(varying).slice(1)}`)
  }
  const begin = (): void => {
    if (lasting !== undefined) return
    writeResponse("response.created", begunMembers)
    writeResponse("response.in_progress", begunMembers)
  }
  const end = (item: LastItem): void => {
    if (item.type === "settled") {
      begin()
      output.finish(isCut(item.finishReason))
      const varying = settledMembers(item, output.values())
      writeResponse(`response.${varying.status}`, varying)
    } else if (lasting === undefined) {
      const { code, message } = item.error.error
      writer.event("error", { code, message, param: null })
    } else writeResponse("response.failed", failedMembers(item, output.values()))
  }
  return {
    deltas: (deltas) => {
      begin()
      for (const delta of deltas) output.append(delta)
      return writer.take()
    },
    last: (item) => {
      end(item)
      return writer.take()
    }
  }
}
