import { crc32 } from "node:zlib"

import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import * as EventStreamFrames from "../../../src/providers/transport/EventStreamFrames.ts"
import { failureTag } from "../protocols/wire.ts"

/** A message of an event stream, byte by byte as AWS documents it. */
const message = (headers: Record<string, string>, body: string): Buffer => {
  const uint = (size: 1 | 2 | 4, value: number): Buffer => {
    const bytes = Buffer.alloc(size)
    bytes.writeUIntBE(value, 0, size)
    return bytes
  }
  const stringType = 7
  const head = Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [
      uint(1, Buffer.byteLength(name)),
      Buffer.from(name),
      uint(1, stringType),
      uint(2, Buffer.byteLength(value)),
      Buffer.from(value)
    ])
  )
  const lengths = Buffer.concat([uint(4, 16 + head.length + Buffer.byteLength(body)), uint(4, head.length)])
  const unsigned = Buffer.concat([lengths, uint(4, crc32(lengths)), head, Buffer.from(body)])
  return Buffer.concat([unsigned, uint(4, crc32(unsigned))])
}

const event = (name: string, body: string): Buffer =>
  message({ ":message-type": "event", ":event-type": name, ":content-type": "application/json" }, body)

const framesOf = (packets: ReadonlyArray<Uint8Array>) =>
  Result.gen(function* () {
    const parser = EventStreamFrames.eventStreamParser()
    const frames = []
    for (const packet of packets) frames.push(...(yield* parser.read([packet])))
    frames.push(...(yield* parser.end()))
    return frames.map(({ data, event }) => [event, data] as const)
  })

const outcome = (packets: ReadonlyArray<Uint8Array>): string =>
  Result.match(framesOf(packets), { onFailure: failureTag, onSuccess: () => "success" })

describe("EventStreamFrames", () => {
  const Events = Schema.Array(Schema.Tuple([Schema.NonEmptyString, Schema.String])).check(Schema.isMaxLength(5))
  const Sizes = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 90 })))
  const At = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

  const split = (bytes: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
    const packets: Array<Uint8Array> = []
    for (let at = 0, index = 0; at < bytes.length; index++) {
      const size = sizes[index % sizes.length] ?? 1
      packets.push(bytes.subarray(at, at + size))
      at += size
    }
    return packets
  }

  it.prop("reads every event and its payload, however the stream is split into packets", { Events, Sizes }, (made) => {
    // Event names are short ASCII on the wire; payloads may be anything.
    const events = made.Events.map(([name, text], index) => [`e${index}${name.length}`, JSON.stringify(text)] as const)
    const whole = Buffer.concat(events.map(([name, body]) => event(name, body)))
    assert.deepStrictEqual(Result.getOrThrow(framesOf(split(whole, made.Sizes))), events)
  })

  it.prop("fails on any changed byte, and never throws", { Sizes, At, by: Schema.Int }, (made) => {
    const whole = Buffer.concat([event("messageStart", "{}"), event("messageStop", `{"stopReason":"end_turn"}`)])
    const index = made.At % whole.length
    whole[index] = (whole[index] ?? 0) ^ ((Math.abs(made.by) % 255) + 1)
    assert.strictEqual(outcome(split(whole, made.Sizes)), "broken")
  })

  it.prop("fails when the stream ends within a message, and only then", { Sizes, At }, (made) => {
    const first = event("messageStart", "{}")
    const whole = Buffer.concat([first, event("messageStop", `{"stopReason":"end_turn"}`)])
    const length = made.At % (whole.length + 1)
    const isWhole = length === 0 || length === first.length || length === whole.length
    assert.strictEqual(outcome(split(whole.subarray(0, length), made.Sizes)), isWhole ? "success" : "broken")
  })

  it("names exceptions by their type, and gives the code and message of errors", () => {
    const exception = { ":message-type": "exception", ":exception-type": "throttlingException" }
    const error = { ":message-type": "error", ":error-code": "InternalFailure", ":error-message": "oh" }
    assert.deepStrictEqual<unknown>(
      Result.getOrThrow(framesOf([message(exception, `{"message":"slow"}`), message(error, "")])),
      [
        ["throttlingException", `{"message":"slow"}`],
        ["error", `{"code":"InternalFailure","message":"oh"}`]
      ]
    )
  })

  it("rejects a message that is too large before it has arrived", () => {
    const prelude = event("e", "x".repeat(9 * 1024 * 1024)).subarray(0, 12)
    const read = EventStreamFrames.eventStreamParser().read([prelude])
    assert.isTrue(Result.isFailure(read) && read.failure.message.includes("too large"))
  })
})
