import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { loadCatalog } from "../../../src/catalog/Catalog.ts"
import { isChat } from "../../../src/catalog/Model.ts"
import { type ChatRequest, textRequest } from "../../../src/domain/Conversation.ts"
import type { Reasoning } from "../../../src/domain/Reasoning.ts"
import { type AdjustedCall, adjustmentsOf, takesParameters } from "../../../src/providers/protocols/Adjustments.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"

const { models, providers } = Result.getOrThrow(loadCatalog())

/** Every endpoint of the shipped chat models. */
const shipped = [...models.values()].flatMap((model) =>
  model.endpoints.flatMap((endpoint) => {
    const { protocol } = endpoint
    const provider = providers.get(endpoint.provider) ?? assert.fail(endpoint.provider)
    return isChat(protocol) ? [{ model, endpoint, protocol, dialect: provider.dialect }] : []
  })
)

const requestOf = (parts: Partial<ChatRequest>): ChatRequest => ({ ...textRequest("Hello"), ...parts })

/** The body that the endpoint would get, without `undefined`; absent when the request is refused. */
const bodyOf = ({ dialect, endpoint, model, request }: AdjustedCall): string | undefined => {
  const { protocol } = endpoint
  if (!isChat(protocol)) return assert.fail("only chat is adjusted")
  const wire = protocols[protocol].encode({
    request,
    stream: false,
    model,
    upstream: endpoint.upstream,
    maxOutputTokens: endpoint.maxOutputTokens,
    dialect,
    origin: "x/y"
  })
  return Result.isSuccess(wire) ? JSON.stringify(wire.success.body) : undefined
}

const parameters: ReadonlyArray<readonly [name: string, parts: Partial<ChatRequest>, sent: RegExp]> = [
  ["temperature", { temperature: 0.123 }, /"temperature":0\.123\b/],
  ["temperature", { temperature: 1.5 }, /"temperature":1\.5\b/],
  ["top_p", { topP: 0.321 }, /"(?:top_p|topP)":0\.321\b/],
  ["top_p", { topP: 0.321, temperature: 0.5 }, /"(?:top_p|topP)":0\.321\b/],
  ["frequency_penalty", { frequencyPenalty: 0.25 }, /"(?:frequency_penalty|frequencyPenalty)":0\.25\b/],
  ["presence_penalty", { presencePenalty: -0.25 }, /"(?:presence_penalty|presencePenalty)":-0\.25\b/],
  ["prompt_cache_key", { promptCacheKey: "key-1" }, /"prompt_cache_key":"key-1"/],
  ["tools.strict", { tools: [{ name: "f", parameters: { type: "object" }, strict: true }] }, /"strict":true/],
  ["max_completion_tokens", { maxOutputTokens: 9 }, /"(?:max_\w*tokens|max\w*Tokens)":9\b/]
]

const thinking: ReadonlyArray<Reasoning | undefined> = [
  undefined,
  { enabled: false, exclude: false },
  ...(["minimal", "low", "medium", "high", "xhigh"] as const).map((effort) => ({ effort, exclude: false }))
]

const namesIn = (call: AdjustedCall) => adjustmentsOf(call).map((adjustment) => adjustment.split("=")[0])

describe("Adjustments", () => {
  it("name exactly the parameters that shipped endpoints do not get as they are", () => {
    for (const { protocol: _, ...endpoint } of shipped) {
      for (const reasoning of thinking) {
        for (const [name, parts, sent] of parameters) {
          const request = requestOf({ ...parts, ...(reasoning && { reasoning }) })
          const call = { ...endpoint, request }
          const body = bodyOf(call)
          if (body === undefined) continue
          const says = `${call.endpoint.id} ${JSON.stringify(parts)} ${JSON.stringify(reasoning)} ${body}`
          assert.strictEqual(namesIn(call).includes(name), !sent.test(body), says)
        }
      }
    }
  })

  it("name the level that stands in for an effort, at every shipped endpoint", () => {
    for (const { protocol: _, ...endpoint } of shipped) {
      for (const effort of ["minimal", "low", "medium", "high", "xhigh"] as const) {
        const call = { ...endpoint, request: requestOf({ reasoning: { effort, exclude: false } }) }
        const body = bodyOf(call) ?? assert.fail(call.endpoint.id)
        const isSent = new RegExp(`"(?:effort|reasoning_effort|thinkingLevel|maxReasoningEffort)":"${effort}"`, "i")
        assert.strictEqual(
          namesIn(call).some((name) => name?.startsWith("reasoning")),
          !isSent.test(body),
          `${call.endpoint.id} ${effort} ${body} ${adjustmentsOf(call).join()}`
        )
      }
    }
  })

  it("say nothing of values that every model has without them", () => {
    for (const { protocol: _, ...endpoint } of shipped) {
      const request = requestOf({ temperature: 1, topP: 1, frequencyPenalty: 0, presencePenalty: 0 })
      assert.deepStrictEqual(adjustmentsOf({ ...endpoint, request }), [])
      assert.isTrue(takesParameters({ ...endpoint, request }))
    }
  })

  it("have a schema enforced wherever the catalog says so", () => {
    const marker = "shape_of_the_answer"
    const schema = { type: "object", properties: { [marker]: { type: "string" } }, required: [marker] }
    const request = requestOf({ responseFormat: { type: "json_schema", name: "n", strict: true, schema } })
    for (const { protocol: _, ...endpoint } of shipped) {
      const body = bodyOf({ ...endpoint, request })
      if (!endpoint.endpoint.structuredOutput) continue
      const format = /"(?:response_format|text|output_config|outputConfig|generationConfig)":\{.*shape_of_the_answer/
      assert.match(body ?? "", format, endpoint.endpoint.id)
      assert.notInclude(body, "valid against this JSON Schema", endpoint.endpoint.id)
    }
  })
})
