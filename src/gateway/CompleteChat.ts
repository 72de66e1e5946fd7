/**
 * The life of a chat request: normalise its reasoning, choose candidates, hold credit, dispatch over them, meter the
 * answer, settle, log. The hold is scoped: however the request ends, leaving the scope without a charge refunds it.
 */
import { Clock, Context, Effect, Layer, type Scope, type Stream } from "effect"

import type { ChatError } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { type Completion, fold } from "../domain/Completion.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import { normalise, reasoningTierOf } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { type DefaultOutputTokens, estimate } from "../ledger/Pricing.ts"
import { type ChatDispatch, Dispatch } from "../providers/dispatch/Dispatch.ts"
import type { ProviderAnswer, Exhausted } from "../providers/dispatch/ProviderAnswer.ts"
import { RequestLog } from "../receipts/RequestLog.ts"
import type { ChatCall } from "./ChatCall.ts"
import { type TargetChoice, ChooseTargets } from "./ChooseTargets.ts"
import { errorFromExhausted, errorFromLedger } from "./Failures.ts"
import { Meter } from "./Meter.ts"
import { openReceipt, type RequestFacts } from "./ReceiptDraft.ts"
import { type DrainSignal, metered, settle, type SettledAnswer, type StreamItem } from "./Settlement.ts"

/** Routing metadata of an answer; all but `routed` are null on a direct call. */
export interface RoutingSummary {
  readonly routed: boolean
  readonly model: ModelId | null
  readonly latencyMillis: number | null
}

export interface PlainAnswer extends SettledAnswer {
  readonly model: ModelId
  readonly routing: RoutingSummary
  readonly completion: Completion
}

export interface StreamedAnswer {
  readonly model: ModelId
  readonly routing: RoutingSummary
  /** Begins with output; ends with exactly one `settled` or `broken`. */
  readonly items: Stream.Stream<StreamItem>
}

export class CompleteChat extends Context.Service<
  CompleteChat,
  {
    readonly complete: (call: ChatCall) => Effect.Effect<PlainAnswer, ChatError>
    /**
     * Succeeds with the first output. The hold, the connection and the receipt live in the scope. When `closing` fails,
     * an answer that is not complete breaks off with its error.
     */
    readonly stream: (call: ChatCall, closing: DrainSignal) => Effect.Effect<StreamedAnswer, ChatError, Scope.Scope>
  }
>()("tollgate/gateway/CompleteChat") {
  static readonly layer = (options: { readonly defaultOutputTokens: DefaultOutputTokens }) =>
    Layer.effect(
      CompleteChat,
      Effect.gen(function* () {
        const rooms: Rooms = {
          targets: yield* ChooseTargets,
          ledger: yield* CreditLedger,
          dispatch: yield* Dispatch,
          requestLog: yield* RequestLog,
          catalogVersion: (yield* Catalog).version,
          defaultOutputTokens: options.defaultOutputTokens
        }
        return CompleteChat.of({
          complete: (call) => whole(rooms, call),
          stream: (call, closing) => streamed(rooms, call, closing)
        })
      })
    )
}

interface Rooms {
  readonly targets: ChooseTargets["Service"]
  readonly ledger: CreditLedger["Service"]
  readonly dispatch: Dispatch["Service"]
  readonly requestLog: RequestLog["Service"]
  readonly catalogVersion: string
  readonly defaultOutputTokens: DefaultOutputTokens
}

const whole = Effect.fnUntraced(function* (rooms: Rooms, call: ChatCall) {
  const { model, routing, ...bill } = yield* answer(rooms, call, rooms.dispatch.complete)
  const visible = bill.meter.pass(bill.answer.value)
  return { ...(yield* settle(bill)), model, routing, completion: fold(visible) }
}, Effect.scoped)

const streamed = Effect.fnUntraced(function* (rooms: Rooms, call: ChatCall, closing: DrainSignal) {
  const { model, routing, ...bill } = yield* answer(rooms, call, rooms.dispatch.open)
  return { model, routing, items: yield* metered(bill, closing) }
})

/** From the request to an answer whose bill is open; `ask` says how the targets are asked. */
const answer = Effect.fnUntraced(function* <A, R>(
  rooms: Rooms,
  call: ChatCall,
  ask: (call: ChatDispatch) => Effect.Effect<ProviderAnswer<A>, Exhausted, R>
) {
  const draft = yield* openReceipt(rooms, subjectOf(call))
  return yield* Effect.gen(function* () {
    const reasoning = normalise(call.input.reasoning, { routed: call.input.model === undefined })
    const request: ChatRequest = { ...call.input.request, ...(reasoning && { reasoning }) }
    const choice = yield* rooms.targets.choose(call, request)
    draft.chosen(choice)
    const hold = yield* holdFor(rooms, call, request, choice)
    draft.held(hold.amount)
    const { affinity, targets } = choice
    const answered = yield* ask({
      held: hold.request,
      request,
      targets,
      ...(affinity !== undefined && { affinity })
    }).pipe(
      Effect.tapError((exhausted) => Effect.sync(() => draft.attempted(exhausted.attempts))),
      Effect.mapError(errorFromExhausted)
    )
    draft.answered(answered, yield* Clock.currentTimeMillis)
    const { endpoint, model } = answered.target
    const meter = new Meter({
      request,
      promptTokens: choice.promptTokens,
      outputLimit: Math.min(request.maxOutputTokens ?? endpoint.maxOutputTokens, endpoint.maxOutputTokens)
    })
    return { answer: answered, meter, hold, draft, model: model.id, routing: routingOf(choice, model.id) }
  }).pipe(Effect.tapCause((cause) => Effect.sync(() => draft.failed(cause))))
})

/** Holds what the first candidate is expected to cost. */
const holdFor = (rooms: Rooms, call: ChatCall, request: ChatRequest, { promptTokens, targets }: TargetChoice) => {
  const { endpoint } = targets[0]
  const expectation = {
    price: endpoint.price,
    modelMaxOutputTokens: endpoint.maxOutputTokens,
    promptTokens,
    audioTokens: audioTokens(request),
    maxOutputTokens: request.maxOutputTokens,
    tier: reasoningTierOf(request.reasoning)
  }
  const amount = estimate(expectation, rooms.defaultOutputTokens)
  return rooms.ledger
    .hold({ request: call.id, organization: call.caller.organization, amount })
    .pipe(Effect.mapError(errorFromLedger))
}

const subjectOf = ({ caller, id, input: { callName, model, stream } }: ChatCall): RequestFacts => ({
  id,
  caller,
  stream,
  ...(callName !== undefined && { callName }),
  ...(model !== undefined && { requestedModel: model })
})

/** The contract calls the model that answered the routed one, also when the first candidate failed. */
const routingOf = ({ routed }: TargetChoice, model: ModelId): RoutingSummary =>
  routed === undefined
    ? { routed: false, model: null, latencyMillis: null }
    : { routed: true, model, latencyMillis: routed.latencyMillis }
