import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { bucketCount, featureVersion } from "../../src/routing/TextFeatures.ts"
import {
  columns,
  crossInputs,
  decodeWeights,
  denseInputs,
  encodeWeights,
  readWeights,
  shippedWeights
} from "../../src/routing/Weights.ts"

const weights = {
  table: Int8Array.from({ length: bucketCount * columns }, (_, at) => (at % 255) - 127),
  scales: Float32Array.from({ length: columns }, (_, at) => at / 8),
  dense: Float32Array.from({ length: columns * denseInputs }, (_, at) => -at / 4),
  cross: Float32Array.from({ length: crossInputs }, (_, at) => at / 2),
  origin: "made up"
}

const bytes = encodeWeights(weights)

/** The file with part of its header replaced, and a checksum that matches. */
const forged = (from: string, to: string): Uint8Array => {
  assert.strictEqual(from.length, to.length)
  const body = Buffer.from(bytes.subarray(0, -32))
  body.write(to, body.indexOf(from), "latin1")
  return Buffer.concat([body, createHash("sha256").update(body).digest()])
}

const broken: ReadonlyArray<readonly [what: string, bytes: Uint8Array, reason: RegExp]> = [
  ["an empty file", new Uint8Array(0), /no file of weights/],
  ["another file", Buffer.from("%PDF-1.7 and so on, for longer than a checksum is"), /no file of weights/],
  ["half a file", bytes.subarray(0, bytes.length >> 1), /damaged/],
  ["one changed bit", bytes.with(bytes.length >> 1, (bytes[bytes.length >> 1] ?? 0) ^ 4), /damaged/],
  ["other features", forged(`"features":${featureVersion}`, '"features":9'), /another release/],
  ["other axes", forged('"coding"', '"poetry"'), /another release/],
  ["a broken header", forged('{"version"', '["version"'), /header is unreadable/]
]

describe("Weights", () => {
  it("come back from a file as they were written", () => {
    assert.deepStrictEqual(Result.getOrThrow(decodeWeights(bytes)), weights)
  })

  for (const [what, file, reason] of broken) {
    it(`are refused with the reason when the file is ${what}`, () => {
      const decoded = decodeWeights(file)
      assert.isTrue(Result.isFailure(decoded))
      if (Result.isFailure(decoded)) assert.match(decoded.failure.message, reason)
    })
  }

  it("are refused when there is no file", () => {
    const missing = readWeights("/nowhere/demand.weights")
    assert.isTrue(Result.isFailure(missing) && /ENOENT/.test(missing.failure.message))
  })

  it("that are shipped fit this release and take about a megabyte", () => {
    const found = Result.getOrThrow(readWeights(shippedWeights))
    assert.match(found.origin, /rows, seed/)
    assert.isBelow(encodeWeights(found).length, 2 ** 20)
  })
})
