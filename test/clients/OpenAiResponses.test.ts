/** The `openai` package for Node over `/v1/responses`: its helpers join the events, parse answers and find errors. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type OpenAI from "openai"
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod"
import * as z from "zod"

import { at, refusal } from "../support/Chat.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

const models = ["gpt-5.2", "claude-sonnet-5", "gemini-2.5-flash", "gpt-4o-mini"]

const report = z.object({ city: z.string(), degrees: z.number() })
const place = z.object({ city: z.string() })

/** The text that arrived in pieces, and the response at the end. */
const streamed = async (openai: OpenAI, body: Parameters<OpenAI["responses"]["stream"]>[0]) => {
  const stream = openai.responses.stream(body)
  const texts: Array<string> = []
  const types = new Set<string>()
  stream.on("response.output_text.delta", ({ delta }) => void texts.push(delta))
  stream.on("event", ({ type }) => void types.add(type))
  return { response: await stream.finalResponse(), text: texts.join(""), types }
}

onEmbedded.sandbox("The openai package over responses", (it) => {
  for (const model of models)
    it.effect(`gets text, whole and streamed, from ${model}`, () =>
      Effect.gen(function* () {
        const { openai } = yield* TestGateway
        const body = { model, input: "[say:Good morning to you all.] Hi" }
        const plain = yield* Effect.promise(() => openai.responses.create(body))
        assert.strictEqual(plain.output_text, "Good morning to you all.")
        assert.strictEqual(plain.status, "completed")
        assert.isAbove(plain.usage?.total_tokens ?? 0, 0)
        const { response, text, types } = yield* Effect.promise(() => streamed(openai, body))
        assert.strictEqual(text, plain.output_text)
        assert.strictEqual(response.output_text, plain.output_text)
        assert.deepStrictEqual(response.usage, plain.usage)
        assert.includeMembers([...types], ["response.created", "response.output_item.done", "response.completed"])
      })
    )

  for (const model of models)
    it.effect(`parses calls and answers of ${model} by their schemas`, () =>
      Effect.gen(function* () {
        const { openai } = yield* TestGateway
        const body = {
          model,
          input: '[call:get_weather {"city":"Bern"}] Weather?',
          tools: [zodResponsesFunction({ name: "get_weather", parameters: place })]
        }
        const called = yield* Effect.promise(() => openai.responses.parse(body))
        const call = called.output.find((item) => item.type === "function_call")
        assert.deepStrictEqual(call?.parsed_arguments, { city: "Bern" })
        const { response } = yield* Effect.promise(() => streamed(openai, body))
        const again = response.output.find((item) => item.type === "function_call")
        assert.deepStrictEqual(at(again, "parsed_arguments"), { city: "Bern" })
        const parsed = yield* Effect.promise(() =>
          openai.responses.parse({ model, input: "Report", text: { format: zodTextFormat(report, "report") } })
        )
        assert.doesNotThrow(() => report.parse(parsed.output_parsed))
      })
    )

  it.effect("calls custom tools and tools of a namespace by their own names", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const body = {
        model: "claude-sonnet-5",
        input: '[call:patch {"input":"*** Begin"}] Edit',
        tools: [{ type: "custom" as const, name: "patch" }]
      }
      for (const response of [
        yield* Effect.promise(() => openai.responses.create(body)),
        (yield* Effect.promise(() => streamed(openai, body))).response
      ]) {
        const call = response.output.find((item) => item.type === "custom_tool_call")
        assert.include(call, { name: "patch", input: "*** Begin" })
        const input = [
          { role: "user" as const, content: "Edit" },
          ...response.output,
          { type: "custom_tool_call_output" as const, call_id: String(at(call, "call_id")), output: "Done." }
        ] as OpenAI.Responses.ResponseInput
        const next = yield* Effect.promise(() => openai.responses.create({ ...body, input }))
        assert.include(next.output_text, "Done.")
      }
    })
  )

  it.effect("is told why a request is refused, before and within a stream", () =>
    Effect.gen(function* () {
      const { openai } = yield* TestGateway
      const body = { model: "gpt-4o-mini", input: "Hi", previous_response_id: "resp_1" }
      for (const call of [() => openai.responses.create(body), () => streamed(openai, body)]) {
        const error = yield* refusal(call)
        assert.deepStrictEqual([error.status, error.code], [400, "unsupported_parameter"])
        assert.match(error.message, /previous_response_id is not supported/)
      }
      const broken = { model: "gpt-4o-mini", input: "[fault:length 30] [fault:cut after=5] Go." }
      const { response } = yield* Effect.promise(() => streamed(openai, broken))
      assert.strictEqual(response.status, "failed")
      assert.strictEqual(response.error?.code, "server_error")
      assert.isNotEmpty(response.output)
    })
  )
})
