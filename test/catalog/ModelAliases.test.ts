import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { loadCatalog } from "../../src/catalog/Catalog.ts"
import { modelAliases } from "../../src/catalog/ModelAliases.ts"

const catalogWith = (...ids: ReadonlyArray<string>) =>
  Result.getOrThrow(
    loadCatalog(
      JSON.stringify({
        models: ids.map((id) => ({
          id,
          context_window: 8_192,
          max_output: 1_024,
          endpoints: [{ provider: "openai", upstream: "acme-upstream", price_usd_per_mtok: { input: 1, output: 1 } }]
        }))
      })
    )
  ).models

const { models } = Result.getOrThrow(loadCatalog())

describe("Model aliases", () => {
  const known: ReadonlyArray<readonly [name: string, id: string]> = [
    ["openai/gpt-5-mini", "gpt-5-mini"],
    ["OpenAI/GPT-5-mini", "gpt-5-mini"],
    ["gpt-4o-2024-08-06", "gpt-4o"],
    ["openai/gpt-4o-2024-08-06", "gpt-4o"],
    ["gpt-4o-mini-2024-07-18", "gpt-4o-mini"],
    ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    ["anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"],
    ["bedrock/claude-haiku-4-5", "claude-haiku-4-5"],
    ["google/gemini-2.5-flash", "gemini-2.5-flash"],
    ["x-ai/grok-4.3", "grok-4.3"],
    ["mistral/mistral-large-4", "mistral-large-4"],
    ["mistralai/mistral-large-4", "mistral-large-4"],
    ["meta-llama/llama-3.3-70b-versatile", "llama-3.3-70b-versatile"],
    ["groq/llama-3.3-70b-versatile", "llama-3.3-70b-versatile"],
    ["minimax/minimax-m3", "MiniMax-M3"],
    ["openai/gpt-oss-120b", "gpt-oss-120b"],
    ["deepseek-ai/DeepSeek-V4.1-Flash", "deepseek-flash"],
    ["us.anthropic.claude-opus-5-5", "claude-opus-5-5"],
    ["openai/whisper-1", "whisper-1"]
  ]
  for (const [name, id] of known)
    it(`reads ${name}`, () => assert.strictEqual<string | undefined>(modelAliases(models)(name), id))

  const unknown = [
    "anthropic/gpt-5-mini",
    "openai/claude-sonnet-4-6",
    "o/gpt-4o",
    "/gpt-4o",
    "openai/",
    "openai/gpt-4o/x",
    "openai//gpt-4o",
    "GPT-4O",
    "gpt-4o-2024-13-06",
    "gpt-4o-2024-0806",
    "gpt-4o-20240806-x",
    "claude-sonnet-4.6",
    "gpt",
    "",
    "__proto__",
    "openai/__proto__",
    `openai/${"a".repeat(10_000_000)}`
  ]
  for (const name of unknown)
    it(`does not guess what ${name.slice(0, 40)} means`, () => assert.isUndefined(modelAliases(models)(name)))

  it("refuse to choose between two models", () => {
    const resolve = modelAliases(catalogWith("acme-1.5", "acme-1-5"))
    assert.isUndefined(resolve("openai/acme-1.5"))
    assert.isUndefined(resolve("acme-upstream"))
  })
})
