/**
 * The life of a chat request. HTTP authenticates the caller, applies the rate limit and decodes the body; what follows
 * is here: normalise the reasoning fields, choose candidates, limit the tokens, hold credit, dispatch, meter, settle,
 * answer, log.
 *
 * The hold belongs to the scope of the request: however the request ends, closing the scope without a charge refunds
 * it.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"

import type { ChatError } from "../api/Errors.ts"
import { type Completion, fold } from "../domain/Completion.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import { normalise, reasoningTierOf } from "../domain/Reasoning.ts"
import { usageBounds } from "../domain/Usage.ts"
import { CreditLedger, type Hold } from "../ledger/CreditLedger.ts"
import { LearnedOutput, type RequestKind } from "../ledger/LearnedOutput.ts"
import type { DefaultOutputTokens } from "../ledger/Pricing.ts"
import { makeLimitedLog } from "../observability/LimitedLog.ts"
import { type ChatDispatch, Dispatch } from "../providers/dispatch/Dispatch.ts"
import type { ProviderAnswer, Exhausted } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { Adjustment } from "../providers/protocols/Adjustments.ts"
import type { ChatCall, ChatInput } from "./ChatCall.ts"
import { type TargetChoice, ChooseTargets } from "./ChooseTargets.ts"
import { creditHolder } from "./CreditHold.ts"
import type { MeasuredAnswer } from "./EndpointSpeeds.ts"
import { errorFromExhausted } from "./ErrorMapping.ts"
import { limited } from "./HardCap.ts"
import { tokenLimiter } from "./LimitTokens.ts"
import { type Delta, Meter } from "./Meter.ts"
import { type ReceiptDraft, receiptOpener, type RequestFacts } from "./ReceiptDraft.ts"
import { makeNameResolver } from "./ResolvedNames.ts"
import { type DrainSignal, meteredStream, settle, type Settlement, type StreamItems } from "./Settlement.ts"
import { planOf } from "./SpendingPlan.ts"
import { droppedOf } from "./StrictRequests.ts"

/** Routing metadata of an answer. On a direct call `routed` is false and the other members are null. */
export interface RoutingSummary {
  readonly routed: boolean
  readonly model: ModelId | null
  readonly latencyMillis: number | null
}

/** A complete answer that has been charged. */
export interface PlainAnswer extends Settlement {
  readonly model: ModelId
  readonly routing: RoutingSummary
  /** The parameters that the model did not get as they were asked for. */
  readonly adjustments: ReadonlyArray<Adjustment>
  /** Names of what this model did not get at all, although others would have. */
  readonly dropped?: ReadonlyArray<string>
  readonly completion: Completion
  /** The same answer in the pieces in which it came, for protocols that keep their order. */
  readonly output: ReadonlyArray<Delta>
}

/** An answer whose first output has arrived. */
export interface StreamedAnswer {
  readonly model: ModelId
  readonly routing: RoutingSummary
  /** The parameters that the model did not get as they were asked for. */
  readonly adjustments: ReadonlyArray<Adjustment>
  /** Estimated tokens of the prompt, which is all that is known of the usage before the end. */
  readonly promptTokens: number
  /** Names of what this model did not get at all, although others would have. */
  readonly dropped?: ReadonlyArray<string>
  readonly items: StreamItems
}

export interface CompleteChatOptions {
  /** How many output tokens to hold for a request that sets no limit of its own. */
  readonly defaultOutputTokens: DefaultOutputTokens
}

export class CompleteChat extends Context.Service<
  CompleteChat,
  {
    readonly complete: (call: ChatCall) => Effect.Effect<PlainAnswer, ChatError>
    /**
     * Succeeds once the first output has arrived. The hold, the connection to the provider and the receipt live in the
     * scope. At `drainSignal`, an answer that is not complete breaks off with its error.
     */
    readonly stream: (call: ChatCall, drainSignal: DrainSignal) => Effect.Effect<StreamedAnswer, ChatError, Scope.Scope>
  }
>()("tollgate/gateway/CompleteChat") {
  static readonly layer = (options: CompleteChatOptions) => Layer.effect(CompleteChat, make(options))
}

const make = Effect.fnUntraced(function* ({ defaultOutputTokens }: CompleteChatOptions) {
  const candidates = yield* ChooseTargets
  const ledger = yield* CreditLedger
  const dispatch = yield* Dispatch
  const withReceipt = yield* receiptOpener
  const clock = yield* Clock.Clock
  const limitTokens = yield* tokenLimiter
  const write = makeLimitedLog()
  const takeHold = creditHolder(ledger, write)
  const learned = new LearnedOutput()
  const resolveNames = makeNameResolver()

  /** From the request to an answer that is yet to be settled. `send` dispatches it plain or streamed. */
  const answer = <A, R>(
    call: ChatCall,
    send: (request: ChatDispatch) => Effect.Effect<ProviderAnswer<A>, Exhausted, R>
  ) => withReceipt(requestFacts(call), (receipt) => answerInto(receipt, call, send))

  const answerInto = Effect.fnUntraced(function* <A, R>(
    receipt: ReceiptDraft,
    received: ChatCall,
    send: (request: ChatDispatch) => Effect.Effect<ProviderAnswer<A>, Exhausted, R>
  ) {
    const call = resolveNames(received)
    const asked = withReasoning(call.input)
    const choice = yield* candidates.choose(call, asked)
    receipt.recordRouting(choice)
    const kindAt = kindOf(call, asked)
    const likely = learned.expected(kindAt(choice.targets[0].model.id))
    const plan = planOf(call, asked, choice, { likely, defaults: defaultOutputTokens })
    yield* limitTokens(call.caller, receipt, () => plan.expectedTokens)
    const hold = yield* takeHold(plan.holdOptions)
    receipt.recordHold(hold.amount)
    const { dispatched, limitAt } = plan.within(hold)
    const { affinity } = choice
    const sent = send({ held: hold.request, ...dispatched, ...(affinity !== undefined && { affinity }) })
    const answered = yield* Effect.catch(sent, (exhausted) => unanswered(exhausted, receipt, hold))
    receipt.recordAnswer(answered, clock.currentTimeMillisUnsafe())
    const speed = speedOf(answered, call.input.stream, clock)
    const limit = limitAt(answered.target.endpoint.id)
    const request = limited(asked, limit)
    const adjustments = withLimit(choice.adjustments(answered.target, request), limit)
    receipt.recordAdjustments(adjustments)
    yield* choice.confirmPin(answered.target.model.id)
    const { endpoint, model } = answered.target
    const meter = meterOf(request, choice.promptTokens, answered.target)
    const learn = (outputTokens: number) => {
      if (limit === undefined) learned.observe(kindAt(model.id), outputTokens)
      choice.observeSpeed(endpoint.id, speed(outputTokens))
    }
    const named = namedAnswer(call.input, choice, { model: model.id, adjustments })
    return { answer: answered, meter, hold, receipt, learn, named }
  })

  const complete = (call: ChatCall) =>
    Effect.scoped(
      Effect.flatMap(answer(call, dispatch.complete), ({ named, ...unsettled }) => {
        const output = unsettled.meter.pass(unsettled.answer.value)
        const answered = { ...named, completion: fold(output), output }
        return Effect.map(settle(unsettled), (settled) => ({ ...settled, ...answered }))
      })
    )

  const stream = Effect.fnUntraced(function* (call: ChatCall, drainSignal: DrainSignal) {
    const { named, ...unsettled } = yield* answer(call, dispatch.open)
    return { ...named, items: yield* meteredStream(unsettled, drainSignal, write) }
  })

  return CompleteChat.of({ complete, stream })
})

/** What is named in an answer beside its output. */
const namedAnswer = (
  input: ChatInput,
  choice: TargetChoice,
  { adjustments, model }: Pick<PlainAnswer, "model" | "adjustments">
) => ({
  model,
  routing: routingSummary(choice, model),
  adjustments,
  dropped: droppedOf(input, adjustments),
  promptTokens: choice.promptTokens
})

/** The error of a request that no target has answered. */
const unanswered = (exhausted: Exhausted, receipt: ReceiptDraft, { charged }: Hold) => {
  receipt.recordAttempts(exhausted.attempts)
  return Effect.fail(errorFromExhausted(exhausted, charged !== undefined))
}

const withReasoning = ({ model, reasoning: fields, request }: ChatInput): ChatRequest => {
  const reasoning = normalise(fields, { routed: model === undefined })
  return { ...request, ...(reasoning && { reasoning }) }
}

/** Made at the first output: yields a function from the output tokens of the whole answer to how fast it was. */
const speedOf = ({ attempts }: ProviderAnswer<unknown>, stream: boolean, clock: Clock.Clock) => {
  const toAnswerMillis = attempts.at(-1)?.latencyMillis ?? 0
  const calledAtMillis = clock.currentTimeMillisUnsafe() - toAnswerMillis
  return (outputTokens: number): MeasuredAnswer => ({
    ...(stream && { firstOutputMillis: toAnswerMillis }),
    outputTokens,
    durationMillis: clock.currentTimeMillisUnsafe() - calledAtMillis
  })
}

/** The kind of this request, of which each model has its own. */
const kindOf =
  ({ caller: { organization } }: ChatCall, { maxOutputTokens, reasoning }: ChatRequest) =>
  (model: ModelId): RequestKind => ({
    organization,
    model,
    tier: reasoningTierOf(reasoning),
    isLimited: maxOutputTokens !== undefined
  })

const meterOf = (request: ChatRequest, promptTokens: number, { endpoint }: Target): Meter => {
  const outputLimit = Math.min(request.maxOutputTokens ?? endpoint.maxOutputTokens, endpoint.maxOutputTokens)
  return new Meter({ request, promptTokens, outputLimit, bounds: usageBounds({ ...endpoint, promptTokens }) })
}

/** A limit that the credit sets is an adjustment as well, unless the target made another one of it. */
const withLimit = (adjustments: ReadonlyArray<Adjustment>, limit: number | undefined): ReadonlyArray<Adjustment> =>
  limit === undefined || adjustments.some((one) => one.startsWith("max_completion_tokens="))
    ? adjustments
    : [...adjustments, `max_completion_tokens=${limit}`]

const requestFacts = ({
  caller,
  id,
  input: { callName, choices, endUserId, model, sentModel = model, stream }
}: ChatCall): RequestFacts => ({
  id,
  caller,
  stream,
  ...(callName !== undefined && { callName }),
  ...(endUserId !== undefined && { endUserId }),
  ...(sentModel !== undefined && { requestedModel: sentModel }),
  ...(choices && { choices })
})

/** The contract calls the model that answered the routed one, also when the first candidate failed. */
const routingSummary = ({ routed }: TargetChoice, model: ModelId): RoutingSummary =>
  routed === undefined
    ? { routed: false, model: null, latencyMillis: null }
    : { routed: true, model, latencyMillis: routed.latencyMillis }
