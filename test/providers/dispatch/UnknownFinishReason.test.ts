import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Stream } from "effect"

import { fold } from "../../../src/domain/Completion.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import { dataEvent, streams } from "../../support/fake-provider/FakeProvider.ts"
import { streamOfEvents } from "../../support/Packets.ts"
import { FakeTargets, held, json, realLayer, request } from "./FakeTargets.ts"

const choice = (members: object, finish_reason: string | null) => ({
  choices: [{ index: 0, finish_reason, ...members }]
})

const plain = (reason: string) => json(choice({ message: { role: "assistant", content: "hello" } }, reason))
const streamed = (reason: string) =>
  streams([
    dataEvent(choice({ delta: { content: "hello" } }, null)),
    dataEvent(choice({ delta: {} }, reason)),
    "data: [DONE]\n\n"
  ])

describe("A finish reason that is not known", () => {
  for (const [reason, expected] of [
    ["brand_new", "stop"],
    ["blocked_by_safety", "content_filter"]
  ] as const)
    it.live(`is ${expected} when it is ${reason}, plain and streamed, and is logged with its target`, () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const capture = Logger.map(Logger.formatJson, (line) => void lines.push(line))
        const fake = yield* FakeTargets
        const dispatch = yield* Dispatch
        const whole = Effect.map(
          dispatch.complete({ held, request, targets: [fake.target("plain", plain(reason))] }),
          ({ value }) => fold(value)
        )
        const stream = Effect.gen(function* () {
          const answer = yield* dispatch.open({ held, request, targets: [fake.target("streamed", streamed(reason))] })
          return fold(yield* Stream.runCollect(streamOfEvents(answer.value)))
        })
        for (const { content, finishReason } of yield* Effect.all([whole, Effect.scoped(stream)]).pipe(
          Effect.provide(Logger.layer([capture]))
        ))
          assert.deepStrictEqual([content, finishReason], ["hello", expected])
        assert.lengthOf(lines, 2)
        for (const [index, origin] of ["plain/plain", "streamed/streamed"].entries()) {
          assert.include(lines[index] ?? "", `"reported":"${reason}"`)
          assert.include(lines[index] ?? "", `"origin":"${origin}"`)
          assert.include(lines[index] ?? "", `"answered":"${expected}"`)
        }
      }).pipe(Effect.provide(realLayer()))
    )
})
