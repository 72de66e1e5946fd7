import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import * as SseFrames from "../../../src/providers/transport/SseFrames.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const framesOf = (packets: ReadonlyArray<Uint8Array>) => {
  const parser = SseFrames.sseParser()
  return [...packets.map((packet) => parser.read([packet])), parser.end()]
    .flatMap(Result.getOrThrow)
    .map(({ event, data }) => [event, data])
}

describe("SseFrames", () => {
  const table: ReadonlyArray<readonly [string, string, ReadonlyArray<readonly [string, string]>]> = [
    ["one event", "data: a\n\n", [["message", "a"]]],
    [
      "CRLF and CR",
      "data: a\r\n\r\ndata: b\r\r",
      [
        ["message", "a"],
        ["message", "b"]
      ]
    ],
    ["a byte order mark", "\uFEFFdata: a\n\n", [["message", "a"]]],
    ["comments", ": PROCESSING\n\n:\n\ndata: a\n\n", [["message", "a"]]],
    ["no space after the colon", "data:a\n\n", [["message", "a"]]],
    ["several data lines", "data: a\ndata: b\n\n", [["message", "a\nb"]]],
    ["named events", "event: error\ndata: a\n\n", [["error", "a"]]],
    ["a retry line, which is ignored", "retry: 1\n\ndata: a\n\n", [["message", "a"]]],
    [
      "a missing last blank line",
      "data: a\n\ndata: b",
      [
        ["message", "a"],
        ["message", "b"]
      ]
    ],
    ["nothing", "", []]
  ]
  for (const [name, text, expected] of table) {
    it(`reads ${name}, however the bytes are split`, () => {
      const whole = bytes(text)
      assert.deepStrictEqual<unknown>(framesOf([whole]), expected)
      assert.deepStrictEqual<unknown>(framesOf(Array.from(whole, (byte) => Uint8Array.of(byte))), expected)
    })
  }

  it.prop(
    "keeps every character of an event, however the stream is split into packets",
    [Schema.String, Schema.Int],
    ([text, at]) => {
      const data = JSON.stringify(`${text}é🙂`)
      const whole = bytes(`data: ${data}\n\n`)
      const cut = Math.abs(at) % whole.length
      assert.deepStrictEqual(framesOf([whole.subarray(0, cut), whole.subarray(cut)]), [["message", data]])
    }
  )

  it("rejects an event that does not end", () => {
    const parser = SseFrames.sseParser()
    const packet = bytes("data: ".padEnd(1024 * 1024, "x"))
    const reads = Array.from({ length: 9 }, () => parser.read([packet]))
    assert.isTrue(reads.slice(0, 8).every(Result.isSuccess))
    assert.isTrue(reads.slice(8).every(Result.isFailure))
  })
})
