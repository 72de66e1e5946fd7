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
import { normalise, tierOf } from "../domain/Reasoning.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { type DefaultOutputTokens, estimate } from "../ledger/Pricing.ts"
import { type Answer, type Call, Dispatch, type Exhausted } from "../providers/Dispatch.ts"
import { RequestLog } from "../usage/RequestLog.ts"
import type { ChatCall } from "./ChatCall.ts"
import { type Choice, ChooseTargets } from "./ChooseTargets.ts"
import { fromExhausted, fromLedger } from "./Failures.ts"
import { Meter } from "./Meter.ts"
import { ReceiptDraft } from "./ReceiptDraft.ts"
import { metered, settle, type Settled, type StreamItem } from "./Settlement.ts"

/** Routing metadata of an answer; all but `routed` are null on a direct call. */
export interface Routing {
  readonly routed: boolean
  readonly model: ModelId | null
  readonly latencyMillis: number | null
}

export interface WholeAnswer extends Settled {
  readonly model: ModelId
  readonly routing: Routing
  readonly completion: Completion
}

export interface StreamedAnswer {
  readonly model: ModelId
  readonly routing: Routing
  /** Begins with output; ends with exactly one `settled` or `broken`. */
  readonly items: Stream.Stream<StreamItem>
}

export class CompleteChat extends Context.Service<
  CompleteChat,
  {
    readonly whole: (call: ChatCall) => Effect.Effect<WholeAnswer, ChatError>
    /** Succeeds with the first output. The hold, the connection and the receipt live in the scope. */
    readonly streamed: (call: ChatCall) => Effect.Effect<StreamedAnswer, ChatError, Scope.Scope>
  }
>()("tollgate/gateway/CompleteChat") {
  static readonly layer = (options: { readonly defaultOutputTokens: DefaultOutputTokens }) =>
    Layer.effect(
      CompleteChat,
      Effect.gen(function* () {
        const targets = yield* ChooseTargets
        const ledger = yield* CreditLedger
        const dispatch = yield* Dispatch
        const requestLog = yield* RequestLog
        const { version } = yield* Catalog

        /** Everything before a provider is called. */
        const prepare = Effect.fnUntraced(function* (call: ChatCall, draft: ReceiptDraft) {
          const reasoning = normalise(call.input.reasoning, { routed: call.input.model === undefined })
          const request: ChatRequest = { ...call.input.request, ...(reasoning && { reasoning }) }
          const choice = yield* targets.choose(call, request)
          draft.chosen(choice)
          const { endpoint } = choice.targets[0]
          const amount = estimate(
            {
              price: endpoint.price,
              modelMaxOutputTokens: endpoint.maxOutputTokens,
              promptTokens: choice.promptTokens,
              maxOutputTokens: request.maxOutputTokens,
              tier: tierOf(reasoning)
            },
            options.defaultOutputTokens
          )
          const hold = yield* ledger
            .hold({ request: call.id, organization: call.caller.organization, amount })
            .pipe(Effect.mapError(fromLedger))
          draft.held(amount)
          return { request, choice, hold }
        })

        /** A receipt in the making, written when the scope closes, whatever happened. */
        const openReceipt = Effect.fnUntraced(function* (call: ChatCall) {
          const draft = new ReceiptDraft(call, version, yield* Clock.currentTimeMillis)
          yield* Effect.addFinalizer((exit) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => requestLog.record(draft.close(exit, now)))
          )
          return draft
        })

        /** Asks the targets in `how`, and opens the meter on what answers. */
        const bill = Effect.fnUntraced(function* <A, R>(
          call: ChatCall,
          how: (call: Call) => Effect.Effect<Answer<A>, Exhausted, R>
        ) {
          const draft = yield* openReceipt(call)
          const { choice, hold, request } = yield* prepare(call, draft)
          const { affinity, targets } = choice
          const answer = yield* how({ request, targets, ...(affinity !== undefined && { affinity }) }).pipe(
            Effect.tapError((exhausted) => Effect.sync(() => draft.attempted(exhausted.attempts))),
            Effect.mapError(fromExhausted)
          )
          draft.answered(answer, yield* Clock.currentTimeMillis)
          const { endpoint, model } = answer.target
          const meter = new Meter({
            request,
            promptTokens: choice.promptTokens,
            outputLimit: Math.min(request.maxOutputTokens ?? endpoint.maxOutputTokens, endpoint.maxOutputTokens)
          })
          return { answer, meter, hold, draft, model: model.id, routing: routingOf(choice, model.id) }
        })

        const whole = Effect.fnUntraced(function* (call: ChatCall) {
          const { model, routing, ...rest } = yield* bill(call, dispatch.complete)
          const visible = rest.meter.pass(rest.answer.value)
          return { ...(yield* settle(rest)), model, routing, completion: fold(visible) }
        }, Effect.scoped)

        const streamed = Effect.fnUntraced(function* (call: ChatCall) {
          const { model, routing, ...rest } = yield* bill(call, dispatch.open)
          return { model, routing, items: yield* metered(rest) }
        })

        return CompleteChat.of({ whole, streamed })
      })
    )
}

/** The contract calls the model that answered the routed one, also when the first candidate failed. */
const routingOf = ({ routed }: Choice, model: ModelId): Routing =>
  routed === undefined
    ? { routed: false, model: null, latencyMillis: null }
    : { routed: true, model, latencyMillis: routed.latencyMillis }
