/** Receipts of `GET /v1/generations/{id}` for the published document. */
import type { Generation } from "../Generation.ts"
import type { DocumentedExamples } from "../OperationDocs.ts"

const failedOver: typeof Generation.Encoded = {
  id: "chatcmpl-01a203b4-b71a-76fe-9c67-e2d507f95a68",
  object: "generation",
  created: 1_795_358_504,
  stream: false,
  outcome: "completed",
  requested_model: null,
  model: "gpt-5-mini",
  endpoint: "openai/gpt-5-mini",
  call_name: "support-chat",
  end_user_id: null,
  audio: null,
  choices: { provider: { ignore: ["groq"] }, max_cost_usd: "0.25" },
  attempts: [
    {
      model: "claude-haiku-5-5",
      endpoint: "anthropic/claude-haiku-5-5",
      outcome: "Transient",
      status: 529,
      latency_ms: 212.4
    },
    { model: "gpt-5-mini", endpoint: "openai/gpt-5-mini", outcome: "answered", status: null, latency_ms: 1_874.9 }
  ],
  adjusted: ["temperature=omitted"],
  routing: {
    latency_ms: 1.03,
    pinned: false,
    tier: "high",
    prompt_tokens: 14,
    difficulty: 0.02,
    demand: { knowledge: 0.02, reasoning: 0.01 },
    candidates: [
      { model: "claude-haiku-5-5", distance: 0.0715, cost_usd: "0.001335" },
      { model: "gpt-5-mini", distance: 0.0739, cost_usd: "0.0051605" }
    ],
    excluded: [{ model: "gpt-4o-mini", because: "reasoning_tier" }]
  },
  tokens: {
    input: 14,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    audio_input: 0,
    output: 150,
    reasoning: 128,
    estimated: false
  },
  picodollars_per_token: {
    input: "250000",
    output: "2000000",
    cache_read: "25000",
    cache_write_5m: "250000",
    cache_write_1h: "250000",
    audio_input: "250000"
  },
  billed_audio_ms: null,
  picodollars_per_audio_hour: null,
  catalog_version: "6acf5c230d86",
  held_usd: "0.0051605",
  cost_usd: "0.0003035",
  uncollected_usd: "0",
  duration_ms: 2_096,
  first_output_ms: 1_870
}

export const receipts: DocumentedExamples = {
  failed_over: { summary: "A routed request whose first provider was down", value: failedOver }
}
