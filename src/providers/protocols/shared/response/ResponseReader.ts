/**
 * Reads the responses of a provider, plain and streamed, by the rules of one protocol. A plain body is read into the
 * same state as the frames of a stream, so that the two cannot differ.
 *
 * Every `Response.ts` has the same sections in the same order: the finish reasons, the state and how it starts, the
 * body of a plain response, one event of a stream, what the two consist of, and the end. The state of a response is one
 * object that is changed in place; `StreamReader` explains why.
 */
import { Result } from "effect"

import type { FinishReason } from "../../../../domain/Completion.ts"
import { broken, type Failure } from "../../../../domain/Failure.ts"
import type { Protocol, ProviderFrame, WireCall } from "../../Protocol.ts"
import { asObject, type Fields, parsedFrame } from "../Field.ts"
import { type CompletionEvents, type EventBuilder, makeEventBuilder } from "./EventBuilder.ts"

/** What every protocol knows of the response it reads; each adds what it needs for itself. */
export interface ResponseState {
  readonly events: EventBuilder
  finishReason: FinishReason | undefined
  /** True once nothing that follows in the stream matters: the protocol's own end marker was read. */
  ended: boolean
}

/** What is read goes into the state and its event builder; a failure ends the response. */
export interface ResponseRules<State extends ResponseState> {
  readonly initialState: (call: WireCall) => State
  /** Reads the whole body of a plain response. */
  readonly readBody: (state: State, body: Fields) => Failure | undefined
  /** True when a body may also be a list of bodies to read one after the other. */
  readonly takesList?: boolean
  /** True for frames without content, such as keep-alives and the end markers of other protocols. */
  readonly isIgnored: (frame: ProviderFrame) => boolean
  /** True for a frame that ends the stream and holds no JSON. */
  readonly isEndMarker?: (frame: ProviderFrame) => boolean
  /** The failure that the name of an event stands for. */
  readonly failureOfEvent: (frame: ProviderFrame) => Failure | undefined
  /** Reads one event of a stream: the object in its frame, and the name of the event where the framing gives one. */
  readonly readEvent: (state: State, fields: Fields, name: string) => Failure | undefined
  /** False while the end of the stream would come too early. Left out where a missing finish reason shows that. */
  readonly isComplete?: (state: State) => boolean
  /** The last events of the response. */
  readonly finish: (state: State) => Result.Result<CompletionEvents, Failure>
}

/**
 * `localStops` are the stop sequences that the provider was not asked to stop at, and `localLimit` is the most output
 * tokens of an answer, where the provider could not be asked for so few.
 */
export const newResponseState = (
  call: WireCall,
  localStops: ReadonlyArray<string>,
  localLimit?: number
): ResponseState => ({
  events: makeEventBuilder(call, localStops, localLimit),
  finishReason: undefined,
  ended: false
})

const noEvents: Result.Result<CompletionEvents, Failure> = Result.succeed([])

/** The response half of a protocol. */
export const responseReader = <State extends ResponseState>(
  rules: ResponseRules<State>
): Pick<Protocol, "decode" | "reader"> => ({
  decode: (body, call) => {
    const state = rules.initialState(call)
    for (const item of rules.takesList && Array.isArray(body) ? body : [body]) {
      const fields = asObject(item)
      const failure =
        fields === undefined ? broken("The provider's answer is not a JSON object.") : rules.readBody(state, fields)
      if (failure !== undefined) return Result.fail(failure)
    }
    return rules.finish(state)
  },
  reader: (call) => {
    const state = rules.initialState(call)
    return {
      step: (frame) => {
        if (state.ended || rules.isIgnored(frame)) return noEvents
        if (rules.isEndMarker?.(frame)) {
          state.ended = true
          return noEvents
        }
        const error = rules.failureOfEvent(frame)
        if (error !== undefined) return Result.fail(error)
        const fields = parsedFrame(frame.data)
        if (Result.isFailure(fields)) return Result.fail(fields.failure)
        const failure = rules.readEvent(state, fields.success, frame.event)
        return failure === undefined ? Result.succeed(state.events.take()) : Result.fail(failure)
      },
      ended: () => state.ended,
      finish: () =>
        rules.isComplete?.(state) === false
          ? Result.fail(broken("The provider's stream broke off before its end."))
          : rules.finish(state)
    }
  }
})

/** A tool call that nobody could execute. */
export const toolCallWithoutName = (): Failure => broken("The provider sent a tool call without a name.")
