/**
 * The file format of the trained weights: a magic word, the length of a header, the header as JSON, the weights, and a
 * SHA-256 of everything before it. A file that is damaged, or was trained on other features or other axes, is refused
 * with the reason.
 *
 * The weights of the hashed features are quantised to 8 bits: one row per bucket, with a column per axis and one for
 * difficulty, and one scale per column. All other weights are 32-bit floats. All numbers are little-endian.
 */
import { hash } from "node:crypto"
import { readFileSync } from "node:fs"

import { Data, Result, Schema } from "effect"

import { axes } from "../catalog/Model.ts"
import { surfaceFeatureCount } from "./SurfaceFeatures.ts"
import { bucketCount, featureVersion, hashSeeds } from "./TextFeatures.ts"

/** The outputs of the model: one per axis, then difficulty. */
export const columns = axes.length + 1
export const difficultyColumn = axes.length

/** The inputs besides the hashed features: the surface features, then the constant 1 for the bias. */
export const denseInputs = surfaceFeatureCount + 1
/** Further inputs of difficulty alone: the dense inputs once per axis, each times the predicted skill of that axis. */
export const crossInputs = axes.length * denseInputs

export interface Weights {
  /** The quantised weights of the hashed features: `bucketCount` rows of `columns`. */
  readonly table: Int8Array
  /** The quantisation scale per column: a weight is its entry of `table` times this. */
  readonly scales: Float32Array
  /** `columns` rows of `denseInputs`. */
  readonly dense: Float32Array
  /** `crossInputs` weights of difficulty. */
  readonly cross: Float32Array
  /** How the weights were trained, for human readers: number of rows and seed. */
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

/** The header that this release writes and accepts, except for the origin. */
const expectedHeader = {
  version: formatVersion,
  features: featureVersion,
  buckets: bucketCount,
  seeds: hashSeeds,
  axes,
  surface: surfaceFeatureCount
} as const

export const encodeWeights = (weights: Weights): Uint8Array => {
  const header = Buffer.from(JSON.stringify({ ...expectedHeader, origin: weights.origin }))
  const size = Buffer.alloc(4)
  size.writeUInt32LE(header.length)
  const body = Buffer.concat([
    Buffer.from(magic),
    size,
    header,
    bytesOf(weights.scales),
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
  const { origin, ...found } = header.success
  if (JSON.stringify(found) !== JSON.stringify(expectedHeader))
    return refused(
      `it was trained for another release: ${JSON.stringify(found)}, not ${JSON.stringify(expectedHeader)}`
    )
  const payload = body.subarray(headerAt + headerBytes)
  const floats = columns + columns * denseInputs + crossInputs
  const expectedBytes = floats * 4 + bucketCount * columns
  if (payload.length !== expectedBytes)
    return refused(`it has ${payload.length} bytes of weights instead of ${expectedBytes}`)
  // Copied, because a Float32Array must start at a multiple of four bytes.
  const copy = new Uint8Array(payload).buffer
  let at = 0
  const take = (count: number): Float32Array => new Float32Array(copy, (at += count * 4) - count * 4, count)
  return Result.succeed({
    scales: take(columns),
    dense: take(columns * denseInputs),
    cross: take(crossInputs),
    table: new Int8Array(copy, at),
    origin
  })
}

/** The file of weights that ships with this release. */
export const shippedWeights = new URL("demand.weights", import.meta.url)

/** Reads and checks a file of weights, synchronously. */
export const readWeights = (file: URL | string): Result.Result<Weights, WeightsError> =>
  Result.flatMap(
    Result.try({
      try: () => readFileSync(file),
      catch: (cause) => new WeightsError({ reason: cause instanceof Error ? cause.message : String(cause) })
    }),
    decodeWeights
  )
