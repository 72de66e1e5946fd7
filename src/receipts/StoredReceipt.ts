/**
 * A receipt as the JSON that is stored. Amounts of money are decimal text, because a JSON number would round them.
 *
 * PostgreSQL cannot store NUL and lone surrogates in JSON. In text that comes from clients they are replaced, so that
 * no request can prevent its own receipt, or the others of its batch, from being stored.
 */
import { Schema } from "effect"

import { type Choices, endpointOrders } from "../domain/Choices.ts"
import * as Ids from "../domain/Ids.ts"
import { ChargeRule } from "../domain/PriceEntry.ts"
import { efforts } from "../domain/Reasoning.ts"
import type { ChargeFacts, Receipt } from "./Receipt.ts"

/** An amount of money as decimal text. */
export const StoredPicodollars = Schema.BigIntFromString.pipe(Schema.brand("Picodollars"))

const Attempt = Schema.Struct({
  model: Ids.ModelId,
  endpoint: Ids.EndpointId,
  outcome: Schema.Literals([
    "answered",
    "skipped",
    "Transient",
    "Credentials",
    "Invalid",
    "ContextTooLong",
    "Unsupported",
    "Nonconforming",
    "Refused"
  ]),
  status: Schema.optionalKey(Schema.Finite),
  message: Schema.optionalKey(Schema.String),
  latencyMillis: Schema.Finite
})

const Features = Schema.Struct({
  image: Schema.Boolean,
  audio: Schema.Boolean,
  tools: Schema.Boolean,
  forcedTool: Schema.Boolean,
  structuredOutput: Schema.Boolean,
  jsonObject: Schema.optionalKey(Schema.Boolean),
  stream: Schema.optionalKey(Schema.Boolean),
  tier: Schema.optionalKey(Schema.Literals(["none", "low", "high"])),
  effort: Schema.optionalKey(Schema.Literals(efforts)),
  thinkingBudget: Schema.optionalKey(Schema.Finite),
  promptTokens: Schema.Finite,
  audioTokens: Schema.Finite,
  outputLimit: Schema.optionalKey(Schema.Finite),
  costQuality: Schema.optionalKey(Schema.Finite),
  allowed: Schema.optionalKey(Schema.Array(Ids.ModelId)),
  session: Schema.optionalKey(Schema.String)
})

const Names = Schema.optionalKey(Schema.Array(Schema.String))
const Switch = Schema.optionalKey(Schema.Boolean)

const StoredChoices = Schema.Struct({
  models: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String, index: Schema.Finite }))),
  provider: Schema.optionalKey(
    Schema.Struct({
      order: Names,
      only: Names,
      ignore: Names,
      allowFallbacks: Switch,
      sort: Schema.optionalKey(Schema.Literals(endpointOrders)),
      maxPrice: Schema.optionalKey(
        Schema.Struct({
          prompt: Schema.optionalKey(StoredPicodollars),
          completion: Schema.optionalKey(StoredPicodollars)
        })
      ),
      denyTraining: Switch,
      zeroRetention: Switch,
      requireParameters: Switch
    })
  ),
  costQuality: Schema.optionalKey(Schema.Finite),
  maxCost: Schema.optionalKey(StoredPicodollars)
}) satisfies Schema.Schema<Choices>

const Routing = Schema.Struct({
  latencyMillis: Schema.Finite,
  pinned: Schema.Boolean,
  demand: Schema.Record(Schema.String, Schema.Finite),
  difficulty: Schema.Finite,
  features: Schema.optionalKey(Features),
  candidates: Schema.Array(Schema.Struct({ model: Ids.ModelId, distance: Schema.Finite, cost: StoredPicodollars })),
  excluded: Schema.Array(Schema.Struct({ model: Ids.ModelId, because: Schema.String }))
})

const Usage = Schema.Struct({
  input: Schema.Finite,
  cacheRead: Schema.Finite,
  cacheWrite5m: Schema.Finite,
  cacheWrite1h: Schema.Finite,
  audioInput: Schema.Finite,
  output: Schema.Finite,
  reasoning: Schema.Finite,
  audioMillis: Schema.optionalKey(Schema.Finite)
})

const Served = Schema.Struct({ model: Ids.ModelId, endpoint: Ids.EndpointId })

/** The fields that a receipt shares with the facts of its charge. */
const sharedFields = {
  project: Ids.ProjectId,
  environment: Ids.EnvironmentId,
  key: Ids.ApiKeyId,
  atMillis: Schema.Finite,
  callName: Schema.optionalKey(Schema.String),
  endUserId: Schema.optionalKey(Schema.String),
  audio: Schema.optionalKey(
    Schema.Struct({ millis: Schema.Finite, basis: Schema.Literals(["header", "size", "broken_header"]) })
  ),
  stream: Schema.Boolean,
  requestedModel: Schema.optionalKey(Schema.String),
  outcome: Schema.String,
  usageEstimated: Schema.Boolean,
  catalogVersion: Schema.String,
  held: StoredPicodollars,
  uncollected: Schema.optionalKey(StoredPicodollars),
  durationMillis: Schema.Finite,
  firstOutputMillis: Schema.optionalKey(Schema.Finite),
  rule: Schema.optionalKey(ChargeRule),
  providerCost: Schema.optionalKey(StoredPicodollars)
}

/** The schema of the stored JSON. A stored receipt that does not decode is reported as unreadable. */
export const StoredReceipt = Schema.Struct({
  ...sharedFields,
  id: Ids.RequestId,
  organization: Ids.OrganizationId,
  served: Schema.optionalKey(Served),
  routing: Schema.optionalKey(Routing),
  choices: Schema.optionalKey(StoredChoices),
  attempts: Schema.Array(Attempt),
  adjusted: Schema.optionalKey(Schema.Array(Schema.String)),
  usage: Schema.optionalKey(Usage),
  rates: Schema.optionalKey(Schema.Record(Schema.String, StoredPicodollars)),
  rateDivisor: Schema.optionalKey(Schema.BigIntFromString),
  unchargedUsage: Schema.optionalKey(Usage),
  cost: StoredPicodollars
}) satisfies Schema.Schema<Receipt>

/** Stands for a character that cannot be stored. */
const replacement = "\ufffd"

/** Text that PostgreSQL can store, in JSON or in a column of text. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll("\0", replacement)

const storable = (_key: string, value: unknown): unknown =>
  typeof value === "bigint" ? value.toString() : typeof value === "string" ? storableText(value) : value

/** Written without the schema. A test checks that the schema can read it. */
export const encodeReceipt = (receipt: Receipt): string => JSON.stringify(receipt, storable)

/** Nothing where a value holds an amount of money that is not text: JSON has no bigint. */
type WithoutAmounts<A> = A extends string | number | boolean | undefined
  ? A
  : A extends bigint
    ? never
    : { readonly [M in keyof A]: WithoutAmounts<A[M]> }

/**
 * JSON that PostgreSQL can store, as `storable` makes it. A replacer is called for each member and costs several times
 * as much as everything else, for every request, so it is used only where text may have to be replaced: JSON writes NUL
 * and lone surrogates as escapes.
 */
const encodeStorable = <A>(value: A & WithoutAmounts<A>): string => {
  const json = JSON.stringify(value)
  return json.includes("\\u") ? JSON.stringify(value, storable) : json
}

const ratesAsText = (rates: NonNullable<Receipt["rates"]>): { readonly [bucket: string]: string } => {
  const text: Record<string, string> = {}
  for (const bucket of Object.keys(rates)) text[bucket] = String(rates[bucket])
  return text
}

const routingAsText = ({ candidates, ...routing }: NonNullable<Receipt["routing"]>) => ({
  ...routing,
  candidates: candidates.map((candidate) => ({ ...candidate, cost: candidate.cost.toString() }))
})

const choicesAsText = ({ maxCost, provider, ...choices }: NonNullable<Receipt["choices"]>) => {
  const { maxPrice, ...preferences } = provider ?? {}
  const price = maxPrice && { prompt: maxPrice.prompt?.toString(), completion: maxPrice.completion?.toString() }
  return {
    ...choices,
    maxCost: maxCost?.toString(),
    provider: provider && { ...preferences, maxPrice: price }
  }
}

/** The milliseconds since 1970 that the id of a request contains. */
export const millisIn = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

/** The part of a receipt for which the request log has no columns, as JSON that can be laid over them. */
export const encodeDetail = ({ atMillis, id, ...receipt }: Receipt): string => {
  const { adjusted, attempts, audio, choices, rateDivisor, rates, routing, rule, unchargedUsage, uncollected } = receipt
  // A try that was repeated later has the id of the first one, and then its own time is not that of the id.
  const time = atMillis === millisIn(id) ? {} : { atMillis }
  const detail = {
    ...time,
    audio,
    attempts,
    adjusted,
    rule,
    rates: rates && ratesAsText(rates),
    rateDivisor: rateDivisor?.toString(),
    unchargedUsage,
    uncollected: uncollected?.toString(),
    routing: routing && routingAsText(routing),
    choices: choices && choicesAsText(choices)
  }
  return encodeStorable(detail satisfies { readonly [member in keyof Receipt]?: unknown })
}

/** Decodes what `encodeReceipt` wrote, after the database has parsed the JSON. */
export const decodeReceipt = Schema.decodeUnknownEffect(StoredReceipt)

const StoredChargeFacts = Schema.Struct({
  ...sharedFields,
  served: Served,
  usage: Usage
}) satisfies Schema.Schema<ChargeFacts>

/** The facts as they are stored with the charge: fit for a column of JSON, whatever text they hold. */
export const encodeChargeFacts = (facts: ChargeFacts): string =>
  encodeStorable({
    ...facts,
    held: facts.held.toString(),
    uncollected: facts.uncollected?.toString(),
    providerCost: facts.providerCost?.toString()
  })

/** Decodes what `encodeChargeFacts` wrote, after the database has parsed the JSON. */
export const decodeChargeFacts = Schema.decodeUnknownEffect(StoredChargeFacts)

/** Decodes what `encodeChargeFacts` wrote; `None` for the format of a version that this one does not understand. */
export const readChargeFacts = Schema.decodeOption(Schema.fromJsonString(StoredChargeFacts))
