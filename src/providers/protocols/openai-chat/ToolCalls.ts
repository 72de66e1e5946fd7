/**
 * Puts streamed tool calls together. Servers disagree on everything here: indexes may be missing, shuffled or all
 * zero; ids may be missing, `"null"`, repeated on every chunk or new on every chunk; names may be repeated. A piece
 * belongs to the call of its id, else of its index, else to the last one, unless it plainly begins another.
 */
import { Result } from "effect"

import { broken, type Failure } from "../../../domain/Failure.ts"
import type { AnswerEvents } from "../shared/AnswerEvents.ts"
import { asArray, asNumber, asObject, asText, isJsonObject } from "../shared/Field.ts"

interface Piece {
  readonly id: string | undefined
  /** The server's index. */
  readonly key: number | undefined
  readonly name: string | undefined
  readonly fragment: string
}

interface Call {
  id: string | undefined
  readonly key: number | undefined
  name: string | undefined
  /** What came before the name was known. */
  waiting: string
  /** Our index, once the call is open. */
  index: number | undefined
}

export interface ToolCallReader {
  /** `whole`: the entries are complete calls of a plain answer, each one its own. */
  readonly read: (entries: unknown, whole: boolean) => void
  /** The failure when a call never got a name. */
  readonly close: () => Result.Result<void, Failure>
}

export const toolCallReader = (answer: AnswerEvents): ToolCallReader => {
  const calls: Array<Call> = []

  const argumentsOf = (call: Call): string => (call.index === undefined ? call.waiting : answer.argumentsOf(call.index))

  const callOf = (piece: Piece): Call | undefined => {
    const { id, key } = piece
    const found =
      (id === undefined ? undefined : calls.findLast((call) => call.id === id)) ??
      (key === undefined ? undefined : calls.findLast((call) => call.key === key)) ??
      (key === undefined && (id === undefined || piece.name === undefined) ? calls.at(-1) : undefined)
    return found !== undefined && beginsAnother(found, argumentsOf(found), piece) ? undefined : found
  }

  const add = (piece: Piece, whole: boolean): void => {
    let call = whole ? undefined : callOf(piece)
    if (call === undefined) {
      call = { id: piece.id, key: piece.key, name: undefined, waiting: "", index: undefined }
      calls.push(call)
    }
    call.id ??= piece.id
    if (call.index === undefined && piece.name !== undefined) {
      call.name = piece.name
      call.index = answer.openTool(call.id, piece.name)
      answer.toolArguments(call.index, call.waiting)
    }
    // A server that sends a finished call once more does not mean to say it twice.
    if (piece.name !== undefined && piece.fragment === argumentsOf(call) && isJsonObject(piece.fragment)) return
    if (call.index === undefined) call.waiting += piece.fragment
    else answer.toolArguments(call.index, piece.fragment)
  }

  return {
    read: (entries, whole) => {
      for (const entry of asArray(entries)) {
        const piece = pieceOf(entry)
        if (piece !== undefined) add(piece, whole)
      }
    },
    close: () =>
      calls.every((call) => call.index !== undefined)
        ? Result.succeed(undefined)
        : Result.fail(broken("The provider sent a tool call without a name."))
  }
}

const pieceOf = (entry: unknown): Piece | undefined => {
  const fields = asObject(entry)
  if (fields === undefined) return undefined
  const called = asObject(fields["function"]) ?? {}
  const id = asText(fields["id"])
  const written = called["arguments"]
  return {
    id: id === "null" ? undefined : id,
    key: asNumber(fields["index"]),
    name: asText(called["name"]),
    // Servers that hand on another API's calls sometimes forget to write the object as text.
    fragment: asText(written) ?? (asObject(written) === undefined ? "" : JSON.stringify(written))
  }
}

/** True when `piece` cannot be a part of `call`, which has these arguments so far. Only a piece with a name begins. */
const beginsAnother = (call: Call, written: string, piece: Piece): boolean => {
  if (piece.name === undefined || call.name === undefined) return false
  const says = piece.fragment.trim() !== "" && piece.fragment !== written
  const otherName = call.name !== piece.name
  if (piece.id !== undefined && piece.id === call.id) {
    const sameKey = piece.key === undefined || call.key === undefined || piece.key === call.key
    return sameKey ? says && isJsonObject(written) : otherName || isJsonObject(written)
  }
  if (otherName) return true
  const otherId = piece.id !== undefined && call.id !== undefined
  return isJsonObject(written) ? says || otherId : otherId && piece.fragment === ""
}
