/**
 * Reads and checks the members of a body by which clients choose models and providers and ask something of the gateway
 * itself, the same for every chat endpoint. A preference that this gateway does not know is refused by its name: it is
 * never ignored, because a client that names one relies on it.
 */
import { Result, Schema } from "effect"

import { choiceFields } from "../../api/ChoiceFields.ts"
import { InvalidModel, InvalidRequest, UnsupportedParameter } from "../../api/Errors.ts"
import type { Choices, ProviderChoices } from "../../domain/Choices.ts"
import { isAbsent, isPlainObject, type JsonObject } from "../../domain/JsonObject.ts"
import { type Picodollars, picodollars, usdDecimals } from "../../domain/Money.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"
import { decodedBody } from "./BodyFields.ts"

export type ChoiceError = InvalidModel | InvalidRequest | UnsupportedParameter

const ChoiceBody = Schema.Struct(choiceFields)
type ChoiceBody = typeof ChoiceBody.Type
const decode = Schema.decodeUnknownExit(ChoiceBody)

/** What a body chooses. Everything is left out that it does not set. */
export type Chosen = Pick<ChatInput, "choices" | "strict">

const nothingChosen: Chosen = {}

/** The name of the service, of which `<service>-auto` is made and which a member of the body has. */
export const serviceNameOf = (autoModel: string): string => autoModel.replace(/-auto$/, "")

export const choicesFrom = (fields: JsonObject, autoModel: string): Result.Result<Chosen, ChoiceError> => {
  const service = serviceNameOf(autoModel)
  const { models, provider } = fields
  const svc = fields[service]
  if (isAbsent(models) && isAbsent(provider) && isAbsent(svc)) return Result.succeed(nothingChosen)
  if (!isAbsent(svc) && !isPlainObject(svc)) return Result.fail(InvalidRequest.of(`${service}: Expected an object`))
  const unsupported = unknownIn("provider", provider, providerMembers) ?? unknownIn(service, svc, serviceMembers)
  if (unsupported !== undefined) return Result.fail(UnsupportedParameter.of(unsupported))
  const wire = { models: models ?? null, provider: provider ?? null, svc: svc ?? null }
  const decoded = decodedBody(decode(wire), "The request body is not a valid chat request")
  if (Result.isFailure(decoded)) {
    const { message } = decoded.failure.error
    return Result.fail(InvalidRequest.of(message.replace(/^svc\b/, service)))
  }
  const misplaced = (decoded.success.models ?? []).findIndex(
    (name, index) => name === autoModel && (index > 0 || !isAbsent(fields["model"]))
  )
  return misplaced === -1
    ? Result.succeed(toChosen(decoded.success, autoModel))
    : Result.fail(InvalidModel.of(`models[${misplaced}]: ${autoModel} can only be the first model`))
}

/** The model of a direct call, which may be the first of `models`; `undefined` if the gateway is to choose. */
export const modelFrom = (
  { model, models }: { readonly model?: string | null; readonly models?: ReadonlyArray<string> | null },
  autoModel: string
): string | undefined => {
  const named = model ?? models?.[0]
  return named === autoModel ? undefined : named
}

/** The input of a request with the choices of its body. */
export const withChoices = (
  input: ChatInput,
  fields: JsonObject,
  autoModel: string
): Result.Result<ChatInput, ChoiceError> =>
  Result.map(choicesFrom(fields, autoModel), (chosen) => {
    if (chosen === nothingChosen) return input
    const listed = fields["models"]
    const first = Array.isArray(listed) ? modelFrom({ models: listed }, autoModel) : undefined
    return { ...input, ...chosen, model: isAbsent(fields["model"]) ? first : input.model }
  })

type Members = { readonly [name: string]: "known" | "ignored" | ((value: unknown) => string | undefined) }

/** An empty list, false and the like ask for nothing. */
const asksForNothing = (value: unknown): boolean => value === false || (Array.isArray(value) && value.length === 0)

const unknownFacts = (why: string) => (value: unknown) => (asksForNothing(value) ? undefined : why)

const providerMembers: Members = {
  order: "known",
  only: "known",
  ignore: "known",
  allow_fallbacks: "known",
  data_collection: "known",
  zdr: "known",
  require_parameters: "known",
  sort: (sort) => {
    if (!isPlainObject(sort)) return undefined
    const partition = sort["partition"]
    return isAbsent(partition) || partition === "model" ? undefined : ".partition other than model is not supported"
  },
  max_price: (prices) => {
    if (!isPlainObject(prices)) return undefined
    const unknown = Object.keys(prices).find((name) => !knownPrices.has(name) && !isAbsent(prices[name]))
    return unknown === undefined ? undefined : `.${unknown} is not supported`
  },
  quantizations: unknownFacts(" is not supported: the catalog does not say how providers quantize models"),
  enforce_distillable_text: unknownFacts(" is not supported")
}

const knownPrices: ReadonlySet<string> = new Set(["prompt", "completion", "request", "image"])

/** What transcriptions take under this name is accepted here as well. */
const serviceMembers: Members = {
  cost_quality: "known",
  max_cost_usd: "known",
  strict: "known",
  call_name: "ignored",
  end_user_id: "ignored",
  memory: "ignored",
  eval: "ignored",
  policy: "ignored"
}

/** The first member of an object that asks for what is not supported. */
const unknownIn = (path: string, object: unknown, members: Members): string | undefined => {
  if (!isPlainObject(object)) return undefined
  for (const [name, value] of Object.entries(object)) {
    if (isAbsent(value)) continue
    const member = Object.hasOwn(members, name) ? members[name] : " is not supported"
    const problem = typeof member === "function" ? member(value) : member
    if (problem !== undefined && problem !== "known" && problem !== "ignored") {
      return `${path}.${name.slice(0, 64)}${problem}`
    }
  }
  return undefined
}

/** Leaves out the members that ask for nothing; `undefined` when none is left. */
const present = <A extends object>(fields: A): { readonly [K in keyof A]?: NonNullable<A[K]> } | undefined => {
  const entries = Object.entries(fields).filter(([, value]) => !isAbsent(value))
  // The members are those of `fields`, without the ones that are absent.
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as { [K in keyof A]?: NonNullable<A[K]> })
}

const toChosen = (body: ChoiceBody, autoModel: string): Chosen => {
  const choices = toChoices(body, autoModel)
  return { ...(choices && { choices }), ...(body.svc?.strict === true && { strict: true }) }
}

const toChoices = ({ models, provider, svc }: ChoiceBody, autoModel: string): Choices | undefined =>
  present({
    models: nonEmpty(models?.map((name, index) => ({ name, index })).filter(({ name }) => name !== autoModel)),
    provider: isAbsent(provider) ? undefined : toProviderChoices(provider),
    costQuality: svc?.cost_quality,
    maxCost: usdOf(svc?.max_cost_usd)
  })

const toProviderChoices = (provider: NonNullable<ChoiceBody["provider"]>): ProviderChoices | undefined =>
  present({
    order: nonEmpty(provider.order),
    only: nonEmpty(provider.only),
    ignore: nonEmpty(provider.ignore),
    allowFallbacks: provider.allow_fallbacks === false ? false : undefined,
    sort: typeof provider.sort === "object" ? provider.sort?.by : provider.sort,
    maxPrice: present({
      prompt: usdOf(provider.max_price?.prompt),
      completion: usdOf(provider.max_price?.completion)
    }),
    denyTraining: provider.data_collection === "deny" ? true : undefined,
    zeroRetention: provider.zdr === true ? true : undefined,
    requireParameters: provider.require_parameters === true ? true : undefined
  })

const nonEmpty = <A>(list: ReadonlyArray<A> | null | undefined): ReadonlyArray<A> | undefined =>
  isAbsent(list) || list.length === 0 ? undefined : list

/**
 * The amount in picodollars, exactly as it is written. What is smaller than a picodollar is cut off, which a limit does
 * not miss: nothing costs a part of one.
 */
const usdOf = (usd: number | string | null | undefined): Picodollars | undefined => {
  if (isAbsent(usd)) return undefined
  const [mantissa = "0", exponent = "0"] = String(usd).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  const shift = usdDecimals + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  return picodollars(shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift))
}
