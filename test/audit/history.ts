/** Requests with holds, charges and receipts, made by the real ledger at stored prices, for suites of the audit. */
import { randomUUID } from "node:crypto"

import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"

import { Catalog } from "../../src/catalog/Catalog.ts"
import type { Endpoint } from "../../src/catalog/Model.ts"
import { costOf, type Price } from "../../src/catalog/Price.ts"
import {
  apiKeyId,
  environmentId,
  modelId,
  type OrganizationId,
  projectId,
  type RequestId
} from "../../src/domain/Ids.ts"
import { type Picodollars, zero } from "../../src/domain/Money.ts"
import type { ChargeRule } from "../../src/domain/PriceEntry.ts"
import type { AudioLength } from "../../src/domain/Transcription.ts"
import { none, type Usage } from "../../src/domain/Usage.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { chargeForDelivered } from "../../src/ledger/Pricing.ts"
import { priceUnder, providerCostOf, statedRates } from "../../src/receipts/ChargedReceipt.ts"
import * as PriceList from "../../src/receipts/PriceList.ts"
import type { ChargeFacts, Receipt } from "../../src/receipts/Receipt.ts"
import { encodeChargeFacts, encodeReceipt } from "../../src/receipts/StoredReceipt.ts"
import { newRequest, pico } from "../ledger/TestLedger.ts"

/** A chat model with a price tier, at this input price, and a transcription model that is priced by time. */
const overlay = (input: string) =>
  JSON.stringify({
    providers: [{ id: "acme", protocol: "openai-chat", base_url: "https://acme.test" }],
    models: [
      {
        id: "acme-1",
        context_window: 1_000_000,
        max_output: 16_384,
        endpoints: [
          {
            provider: "acme",
            price_usd_per_mtok: {
              input,
              output: 8,
              cache_read: "0.1",
              cache_write: 1.5,
              tiers: [{ above_prompt_tokens: 200_000, input: 4, output: 16 }]
            }
          }
        ]
      }
    ],
    transcription_models: [
      {
        id: "acme-transcribe",
        endpoints: [{ provider: "acme", price_usd_per_audio_hour: 0.111, minimum_audio_seconds: 10 }]
      }
    ]
  })

/** A catalog at this input price, whose prices are stored as by a gateway at its start. */
export const atPrice = (input: string) =>
  PriceList.priceListLayer.pipe(
    Layer.provideMerge(
      Catalog.layer({
        overlay: overlay(input),
        account: (provider) =>
          Effect.succeed({ provider, baseUrl: "https://acme.test", apiKey: Redacted.make("secret") })
      })
    )
  )

export const tokens = (counts: Partial<Usage>): Usage => ({ ...none, ...counts })

interface Ending {
  readonly outcome: string
  /** `undefined`: nothing is charged. */
  readonly usage: Usage | undefined
  /** Of a transcription. */
  readonly audio?: AudioLength
  /** Whether the charge is stored with its facts, as this version does and the first ones did not. */
  readonly withFacts?: boolean
  /** The rule by which it is charged. With one, or with `null`, the provider's cost is stored as this version does. */
  readonly rule?: ChargeRule | null
}

const chargedAt = (providerPrice: Price, rule: Ending["rule"]): Price => {
  const price = priceUnder(providerPrice, rule ?? undefined)
  if (price === undefined) throw new Error("the rule does not fit")
  return price
}

const modelOf = ({ audio }: Ending) => (audio === undefined ? "acme-1" : "acme-transcribe")

const endpointOf = (ending: Ending) =>
  Effect.map(Catalog, (catalog): Endpoint => {
    const found = catalog.lookup(modelOf(ending))
    if (found._tag !== "Served") throw new Error("acme is not served")
    return found.model.endpoints[0]
  })

const receiptOf = Effect.fnUntraced(function* (
  request: RequestId,
  organization: OrganizationId,
  ending: Ending & { readonly held: Picodollars; readonly cost: Picodollars }
) {
  const { audio, cost, held, outcome, rule, usage } = ending
  const endpoint = yield* endpointOf(ending)
  const price = chargedAt(endpoint.price, rule)
  const { version } = yield* Catalog
  return {
    id: request,
    organization,
    project: projectId(randomUUID()),
    environment: environmentId(randomUUID()),
    key: apiKeyId(randomUUID()),
    atMillis: yield* Clock.currentTimeMillis,
    stream: false,
    outcome,
    ...(audio && { audio }),
    served: { model: modelId(modelOf(ending)), endpoint: endpoint.id },
    attempts: [],
    usageEstimated: false,
    ...(usage && { usage, ...statedRates(price, usage) }),
    ...(usage && rule !== undefined && { providerCost: providerCostOf(endpoint.price, usage, audio) }),
    ...(usage && rule && { rule }),
    catalogVersion: version,
    held,
    cost,
    durationMillis: 10
  } satisfies Receipt
})

const factsOf = (receipt: ChargeFacts & Partial<Receipt>): string => {
  const { attempts: _a, cost: _c, id: _i, organization: _o, rateDivisor: _d, rates: _r, ...facts } = receipt
  return encodeChargeFacts(facts)
}

const log = Effect.fnUntraced(function* (receipt: Receipt) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO request_log (id, organization_id, at, receipt)
    VALUES (${receipt.id}, ${receipt.organization}, now(), ${encodeReceipt(receipt)}::text::jsonb)`
})

/** Makes one request from its hold to its receipt, as the gateway does. */
export const request = Effect.fnUntraced(function* (organization: OrganizationId, ending: Ending) {
  const ledger = yield* CreditLedger
  const price = chargedAt((yield* endpointOf(ending)).price, ending.rule)
  const id = newRequest()
  const held = pico(5_000_000_000)
  const { usage } = ending
  const cost =
    usage === undefined
      ? zero
      : ending.outcome === "client_left"
        ? chargeForDelivered({ price, held, delivered: usage })
        : costOf(price, usage)
  const hold = ledger.hold({ request: id, organization, amount: held })
  const receipt = yield* receiptOf(id, organization, { ...ending, held, cost })
  const facts = ending.withFacts === true && usage !== undefined ? [factsOf({ ...receipt, usage })] : []
  yield* Effect.scoped(
    Effect.flatMap(hold, ({ settle }) => (usage === undefined ? Effect.void : settle(cost, ...facts)))
  )
  yield* log(receipt)
  return id
})
