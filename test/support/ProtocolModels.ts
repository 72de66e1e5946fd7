/**
 * The models with which a protocol is proved: those of the shipped catalog whose first endpoint uses it. A protocol
 * without such a model gets one from an overlay, so that a new protocol is tested as soon as it has a name.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { Result } from "effect"
import { inject } from "vitest"

import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { type Model, type ChatProtocolName, chatProtocolNames } from "../../src/catalog/Model.ts"
import type { Environment } from "./GatewayEnvironment.ts"

const shipped = Result.getOrThrow(loadCatalog())
const uses = (protocol: ChatProtocolName) => (model: Model) => model.endpoints[0].protocol === protocol
const shippedModels = [...shipped.models.values()]

const standIns = chatProtocolNames
  .filter((protocol) => !shippedModels.some(uses(protocol)))
  .map((protocol) => ({
    id: `stand-in-${protocol}`,
    context_window: 200_000,
    max_output: 64_000,
    input: ["text", "image"],
    structured_output: true,
    reasoning: { support: "optional", efforts: ["low", "medium", "high"], budget_tokens: { min: 1_024, max: 32_000 } },
    endpoints: [
      {
        provider: [...shipped.providers.values()].find((provider) => provider.protocol === protocol)?.id ?? protocol,
        upstream: "anthropic.claude-sonnet-4-5-20250929-v1:0",
        price_usd_per_mtok: { input: 3, output: 15 }
      }
    ]
  }))

const overlay = JSON.stringify({ models: standIns })
const models = [...Result.getOrThrow(loadCatalog(overlay)).models.values()]

/** Variables of a gateway with a model for every protocol. */
export const protocolModels = (): Environment => {
  const file = join(inject("scratch"), `protocol-models-${process.pid}.json`)
  writeFileSync(file, overlay)
  return { CATALOG_FILE: file }
}

/** The models whose first endpoint uses the protocol and that satisfy `can`. */
export const modelsOf = (
  protocol: ChatProtocolName,
  can: (model: Model) => boolean = () => true
): ReadonlyArray<Model> => models.filter((model) => uses(protocol)(model) && can(model))

/** Those of them that reason and call tools. */
export const reasoningModelsOf = (protocol: ChatProtocolName): ReadonlyArray<Model> =>
  modelsOf(protocol, ({ reasoning, tools }) => tools && reasoning.support !== "none")
