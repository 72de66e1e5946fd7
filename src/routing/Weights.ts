/**
 * The trained weights as one file: a magic word, the length of a header, the header as JSON, the numbers, and a SHA-256
 * of all before it. What was trained on other features or other axes, or is damaged, is refused with the reason.
 *
 * One row of small integers per bucket, a column per axis and one for difficulty; per column the value of one step. The
 * few numbers beside them are 32-bit floats, little-endian like all else here.
 */
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"

import { Data, Result, Schema } from "effect"

import { axes } from "../catalog/Model.ts"
import { surfaceCount } from "./SurfaceFeatures.ts"
import { bucketCount, featureVersion, hashSeeds } from "./TextFeatures.ts"

/** Every axis, then difficulty. */
export const columns = axes.length + 1
export const difficultyColumn = axes.length

/** Inputs of the small models: what the text looks like, then 1. */
export const denseInputs = surfaceCount + 1
/** Inputs of difficulty: the same once per axis, each times how likely the axis is asked. */
export const crossInputs = axes.length * denseInputs

export interface Weights {
  /** `bucketCount` rows of `columns`. */
  readonly table: Int8Array
  /** What one step of `table` is worth, per column. */
  readonly steps: Float32Array
  /** `columns` rows of `denseInputs`. */
  readonly dense: Float32Array
  /** `crossInputs` weights of difficulty. */
  readonly cross: Float32Array
  /** Where the weights come from, for people: rows, seed, date of the data. */
  readonly origin: string
}

export class WeightsError extends Data.TaggedError("WeightsError")<{ readonly reason: string }> {
  override get message() {
    return `The router's weights cannot be used: ${this.reason}`
  }
}

const magic = "TGDEMAND"
const formatVersion = 1
const checksumBytes = 32
const headerBytesMax = 65_536

const Header = Schema.Struct({
  version: Schema.Int,
  features: Schema.Int,
  buckets: Schema.Int,
  seeds: Schema.Struct({ word: Schema.Int, pair: Schema.Int, piece: Schema.Int }),
  axes: Schema.Array(Schema.String),
  surface: Schema.Int,
  origin: Schema.String
})
const HeaderText = Schema.fromJsonString(Header)

/** What this release reads and writes, but for the origin. */
const ours = {
  version: formatVersion,
  features: featureVersion,
  buckets: bucketCount,
  seeds: hashSeeds,
  axes,
  surface: surfaceCount
} as const

export const encodeWeights = (weights: Weights): Uint8Array => {
  const header = Buffer.from(JSON.stringify({ ...ours, origin: weights.origin }))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(header.length)
  const body = Buffer.concat([
    Buffer.from(magic),
    size,
    header,
    bytesOf(weights.steps),
    bytesOf(weights.dense),
    bytesOf(weights.cross),
    bytesOf(weights.table)
  ])
  return Buffer.concat([body, hash("sha256", body, "buffer")])
}

const bytesOf = (values: Float32Array | Int8Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

export const decodeWeights = (bytes: Uint8Array): Result.Result<Weights, WeightsError> => {
  const refused = (reason: string) => Result.fail(new WeightsError({ reason }))
  const data = Buffer.from(bytes)
  if (data.toString("latin1", 0, magic.length) !== magic) return refused("it is no file of weights")
  const body = data.subarray(0, -checksumBytes)
  if (!hash("sha256", body, "buffer").equals(data.subarray(-checksumBytes))) return refused("it is damaged")
  const headerAt = magic.length + 4
  const headerBytes = Math.min(body.readUInt32LE(magic.length), headerBytesMax)
  const header = Schema.decodeUnknownResult(HeaderText)(data.toString("utf8", headerAt, headerAt + headerBytes))
  if (Result.isFailure(header)) return refused(`its header is unreadable: ${header.failure.message}`)
  const { origin, ...theirs } = header.success
  if (JSON.stringify(theirs) !== JSON.stringify(ours))
    return refused(`it was trained for another release: ${JSON.stringify(theirs)}, not ${JSON.stringify(ours)}`)
  const payload = body.subarray(headerAt + headerBytes)
  const floats = columns + columns * denseInputs + crossInputs
  if (payload.length !== floats * 4 + bucketCount * columns) return refused(`it holds ${payload.length} bytes`)
  // A copy, since floats must start at a multiple of four.
  const copy = new Uint8Array(payload).buffer
  let at = 0
  const take = (count: number): Float32Array => new Float32Array(copy, (at += count * 4) - count * 4, count)
  return Result.succeed({
    steps: take(columns),
    dense: take(columns * denseInputs),
    cross: take(crossInputs),
    table: new Int8Array(copy, at),
    origin
  })
}

/** The weights that are shipped with this release. */
export const shippedWeights = new URL("demand.weights", import.meta.url)

/** Reads and checks a file of weights. */
export const readWeights = (file: URL | string): Result.Result<Weights, WeightsError> =>
  Result.flatMap(
    Result.try({
      try: () => readFileSync(file),
      catch: (cause) => new WeightsError({ reason: cause instanceof Error ? cause.message : String(cause) })
    }),
    decodeWeights
  )
