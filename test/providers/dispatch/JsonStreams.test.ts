/** JSON modes where a stream was asked for: what can be checked before it is sent is, and the rest at its end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"

import { type CompletionEvent, fold } from "../../../src/domain/Completion.ts"
import type { ChatRequest } from "../../../src/domain/Conversation.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import type { EventPackets } from "../../../src/providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../../../src/providers/dispatch/Target.ts"
import { dataEvent, streams } from "../../support/fake-provider/FakeProvider.ts"
import { streamOfEvents } from "../../support/Packets.ts"
import { answers, FakeTargets, held, request, testLayer } from "./FakeTargets.ts"

const asObject: Partial<ChatRequest> = { responseFormat: { type: "json_object" } }

const open = (asked: Partial<ChatRequest>, ...targets: readonly [Target, ...Array<Target>]) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.open({ held, request: { ...request, ...asked }, targets }))

/** A stream of these texts, each in a chunk of its own. */
const streamed = (...texts: ReadonlyArray<string>) =>
  streams([...texts.map((text) => dataEvent({ text })), dataEvent({ finish: "stop" }), "data: [DONE]\n\n"])

/** Everything that a stream gives before it ends, and how it ends. */
const readAll = Effect.fnUntraced(function* (events: EventPackets) {
  const read: Array<CompletionEvent> = []
  const end = yield* Effect.result(
    Stream.runForEach(streamOfEvents(events), (event) => Effect.sync(() => read.push(event)))
  )
  return { ...fold(read), end: Result.isSuccess(end) ? "complete" : JSON.stringify(end.failure.reason) }
})

const nonconforming = '{"_tag":"Nonconforming"}'

const ofSchema = (schema: object): Partial<ChatRequest> => ({
  responseFormat: { type: "json_schema", name: "s", strict: true, schema: { ...schema } }
})

describe("A streamed answer in a JSON mode", () => {
  it.live("is checked before it is sent, where the provider answers in one piece", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const [prose, fenced] = [fake.target("prose", answers("Sure!")), fake.target("b", answers("```json\n{}\n```"))]
      const { attempts, value } = yield* open(asObject, prose, fenced)
      assert.deepInclude(yield* readAll(value), { content: "{}", end: "complete" })
      assert.strictEqual(attempts[0]?.outcome, "Nonconforming")
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("fails at its end where it is not JSON, after all that was sent", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      for (const [texts, end] of [
        [['{"city":', ' "Lima"}'], "complete"],
        [["[1, 2", "]\n"], "complete"],
        [['{"city":', ' "Lima"'], nonconforming],
        [["Sure! ", "{}"], nonconforming],
        [["```json\n", "no\n", "```"], nonconforming]
      ] as const) {
        const { value } = yield* open(asObject, fake.target("native", streamed(...texts)))
        const read = yield* readAll(value)
        assert.strictEqual(read.end, end)
        if (end === "complete") assert.deepInclude(read, { content: texts.join(""), finishReason: "stop" })
      }
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("is passed on where it is no promise of JSON: as text, or cut by the client's own stop sequences", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      for (const asked of [{}, { ...asObject, stop: ["}"] }]) {
        const { value } = yield* open(asked, fake.target("native", streamed('{"city":', ' "Lima"')))
        assert.deepInclude(yield* readAll(value), { content: '{"city": "Lima"', end: "complete" })
      }
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )

  it.live("is held to a schema that the endpoint's own mode enforces, and to no other", () =>
    Effect.gen(function* () {
      const fake = yield* FakeTargets
      const object = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
      for (const [schema, end] of [
        [object, nonconforming],
        [{ anyOf: [{ type: "string" }, { $ref: "#/$defs/o" }], $defs: { o: object } }, nonconforming],
        [{ ...object, not: {} }, "complete"],
        [{ ...object, properties: { city: { type: "string", minLength: 9 } } }, "complete"],
        [{ type: "object", properties: { town: {} } }, "complete"]
      ] as const) {
        const { value } = yield* open(ofSchema(schema), fake.target("native", streamed('{"town":', ' "Lima"}')))
        assert.deepInclude(yield* readAll(value), { end }, JSON.stringify(schema))
      }
    }).pipe(Effect.scoped, Effect.provide(testLayer()))
  )
})
