import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { Choices } from "../../../src/domain/Choices.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import { choicesFrom, modelFrom } from "../../../src/http/completion/ChoicesFromWire.ts"

type Fields = { readonly [name: string]: unknown }

const accepts = (fields: Fields, autoModel = "svc-auto"): Choices | undefined => {
  const result = choicesFrom(fields, autoModel)
  return Result.isSuccess(result) ? result.success.choices : assert.fail(result.failure.error.message)
}

const refuses = (fields: Fields, autoModel = "svc-auto"): string => {
  const result = choicesFrom(fields, autoModel)
  return Result.isFailure(result)
    ? `${result.failure.error.code} ${result.failure.error.message}`
    : assert.fail(`accepted ${JSON.stringify(fields)}`)
}

const usd = (amount: bigint) => picodollars(amount)

const nothing: ReadonlyArray<Fields> = [
  {},
  { models: null, provider: null, svc: null },
  { models: [] },
  { provider: {} },
  { provider: { only: [], allow_fallbacks: true, zdr: false, data_collection: "allow", quantizations: [] } },
  { provider: { max_price: {}, sort: null, enforce_distillable_text: false } },
  { svc: { cost_quality: null, call_name: "x", end_user_id: "y", memory: {}, eval: 1, policy: "p" } }
]

const read: ReadonlyArray<readonly [Fields, Choices]> = [
  [
    { models: ["a", "b"] },
    {
      models: [
        { name: "a", index: 0 },
        { name: "b", index: 1 }
      ]
    }
  ],
  [{ models: ["svc-auto", "b"] }, { models: [{ name: "b", index: 1 }] }],
  [
    { provider: { order: ["x"], only: ["y"], ignore: ["z"], allow_fallbacks: false } },
    { provider: { order: ["x"], only: ["y"], ignore: ["z"], allowFallbacks: false } }
  ],
  [
    { provider: { data_collection: "deny", zdr: true, require_parameters: true } },
    { provider: { denyTraining: true, zeroRetention: true, requireParameters: true } }
  ],
  [{ provider: { sort: "price" } }, { provider: { sort: "price" } }],
  [{ provider: { sort: { by: "latency", partition: "model" } } }, { provider: { sort: "latency" } }],
  [
    { provider: { max_price: { prompt: "1.25", completion: 2, request: 0, image: "1" } } },
    { provider: { maxPrice: { prompt: usd(1_250_000_000_000n), completion: usd(2_000_000_000_000n) } } }
  ],
  [{ svc: { cost_quality: 0 } }, { costQuality: 0 }],
  [{ svc: { cost_quality: 0.5, max_cost_usd: 0 } }, { costQuality: 0.5, maxCost: usd(0n) }]
]

const amounts: ReadonlyArray<readonly [string | number, bigint]> = [
  ["0.000000000001", 1n],
  ["0.1", 100_000_000_000n],
  [0.1, 100_000_000_000n],
  [1e-7, 100_000n],
  [1.5e-12, 1n],
  [1e-13, 0n],
  [0.30000000000000004, 300_000_000_000n],
  [123_456_789, 123_456_789_000_000_000_000n],
  ["123456789.999999999999999", 123_456_789_999_999_999_999n]
]

const refused: ReadonlyArray<readonly [Fields, string]> = [
  [{ models: ["a", "b", "c", "d"] }, "invalid_request models: "],
  [{ models: "a" }, "invalid_request models: "],
  [{ models: [1] }, "invalid_request models[0]: "],
  [{ models: [""] }, "invalid_request models[0]: "],
  [{ models: ["a", "svc-auto"] }, "invalid_model models[1]: svc-auto can only be the first model"],
  [{ model: "a", models: ["svc-auto"] }, "invalid_model models[0]: svc-auto can only be the first model"],
  [{ provider: "openai" }, "invalid_request provider: "],
  [{ provider: { order: "openai" } }, "invalid_request provider.order: "],
  [{ provider: { sort: "fastest" } }, "invalid_request provider.sort: "],
  [{ provider: { data_collection: "never" } }, "invalid_request provider.data_collection: "],
  [{ provider: { max_price: { prompt: -1 } } }, "invalid_request provider.max_price.prompt: "],
  [{ provider: { max_price: { prompt: "1e3" } } }, "invalid_request provider.max_price.prompt: "],
  [{ provider: { max_price: { audio: 1 } } }, "unsupported_parameter provider.max_price.audio is not supported"],
  [{ provider: { sort: { by: "price", partition: "none" } } }, "unsupported_parameter provider.sort.partition other"],
  [{ provider: { quantizations: ["fp8"] } }, "unsupported_parameter provider.quantizations is not supported"],
  [{ provider: { enforce_distillable_text: true } }, "unsupported_parameter provider.enforce_distillable_text is"],
  [{ provider: { preferred_max_latency: 1 } }, "unsupported_parameter provider.preferred_max_latency is not"],
  [{ provider: { constructor: 1 } }, "unsupported_parameter provider.constructor is not supported"],
  [{ svc: { max_cost: 1 } }, "unsupported_parameter svc.max_cost is not supported"],
  [{ svc: { cost_quality: 1.1 } }, "invalid_request svc.cost_quality: "],
  [{ svc: { max_cost_usd: "1 USD" } }, "invalid_request svc.max_cost_usd: "],
  [{ svc: 1 }, "invalid_request svc: "]
]

describe("choicesFrom", () => {
  for (const fields of nothing)
    it(`reads no choice from ${JSON.stringify(fields)}`, () => assert.isUndefined(accepts(fields)))

  for (const [fields, choices] of read)
    it(`reads ${JSON.stringify(fields)}`, () => assert.deepStrictEqual(accepts(fields), choices))

  for (const [amount, expected] of amounts)
    it(`reads ${JSON.stringify(amount)} USD exactly, but for parts of a picodollar`, () =>
      assert.strictEqual(accepts({ svc: { max_cost_usd: amount } })?.maxCost, expected))

  for (const [fields, expected] of refused)
    it(`refuses ${JSON.stringify(fields)}`, () => {
      const refusal = refuses(fields)
      assert.isTrue(refusal.startsWith(expected), refusal)
    })

  it("reads the member that is named after the service, and names it in errors", () => {
    assert.deepStrictEqual(accepts({ acme: { cost_quality: 1 }, svc: { cost_quality: "ignored" } }, "acme-auto"), {
      costQuality: 1
    })
    assert.match(refuses({ acme: { cost_quality: 2 } }, "acme-auto"), /^invalid_request acme\.cost_quality: /)
  })
})

describe("modelFrom", () => {
  const cases: ReadonlyArray<readonly [Parameters<typeof modelFrom>[0], string | undefined]> = [
    [{}, undefined],
    [{ model: "svc-auto" }, undefined],
    [{ model: "a" }, "a"],
    [{ model: null, models: ["b"] }, "b"],
    [{ models: ["svc-auto", "b"] }, undefined],
    [{ model: "a", models: ["b"] }, "a"],
    [{ model: "svc-auto", models: ["b"] }, undefined]
  ]
  for (const [wire, expected] of cases)
    it(`takes ${expected ?? "the router's choice"} from ${JSON.stringify(wire)}`, () =>
      assert.strictEqual(modelFrom(wire, "svc-auto"), expected))
})
