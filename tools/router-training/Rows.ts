/**
 * Training data: JSON Lines, one row per prompt. A row states what the prompt is about (`labels` or `category`), or how
 * well models did on it (`scores`, or `strong` and `weak`), or both. It is read as a stream, so that the data may be
 * larger than memory.
 */
import { Data, Effect, FileSystem, type PlatformError, Schema, Stream } from "effect"

const Score = Schema.NullOr(Schema.Finite)

export const Row = Schema.Struct({
  id: Schema.optional(Schema.String),
  prompt: Schema.String,
  /** The more rows a source has, the less each of them counts. */
  source: Schema.optional(Schema.String),
  dataset: Schema.optional(Schema.String),
  licence: Schema.optional(Schema.String),
  labels: Schema.optional(Schema.Array(Schema.String)),
  category: Schema.optional(Schema.String),
  /** For chat: 1 if any model answers it well, 3 if it is usual for its category, 5 if only the best models do. */
  grade: Schema.optional(Schema.Literals([1, 2, 3, 4, 5])),
  /** Rows of one cluster are similar and stay in one fold. */
  cluster: Schema.optional(Schema.String),
  /** How correct the answer of each model was, 0 to 1; null if it was not graded. */
  scores: Schema.optional(Schema.Record(Schema.String, Score)),
  /** The cost of each model's answer, in any unit that is the same in all rows. */
  cost: Schema.optional(Schema.Record(Schema.String, Score)),
  /** The scores of two models to route between. */
  strong: Schema.optional(Score),
  weak: Schema.optional(Score)
})
export type Row = typeof Row.Type

const RowText = Schema.fromJsonString(Row)

export class DataError extends Data.TaggedError("DataError")<{ readonly file: string; readonly reason: string }> {
  override get message() {
    return `${this.file}: ${this.reason}`
  }
}

/** The name of the data set that a row belongs to. Scores are only compared within one data set. */
export const datasetOf = (row: Row): string => row.source ?? row.dataset ?? "unnamed"

/** Identifies a row independently of its position in the data. */
export const rowKeyOf = (row: Row): string => row.id ?? row.prompt

/** False for rows whose licence forbids commercial use or is stated as none. A row without the field may be used. */
export const mayTrainOn = ({ licence }: Row): boolean =>
  licence === undefined || !/\bNC\b|\bno(ne)?\b|^$/i.test(licence)

/** All rows of the `.jsonl` files in the directories and their subdirectories, in the order of their paths. */
export const rowsOf = (directories: ReadonlyArray<string>): TrainingRows =>
  Stream.flatMap(Stream.fromArray(directories), rowsBelow)

export type TrainingRows = Stream.Stream<Row, DataError | PlatformError.PlatformError, FileSystem.FileSystem>

const rowsBelow = (directory: string): TrainingRows =>
  Stream.unwrap(
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const paths = (yield* files.readDirectory(directory, { recursive: true }))
        .filter((path) => path.endsWith(".jsonl"))
        .sort()
        .map((path) => `${directory}/${path}`)
      if (paths.length === 0) return Stream.fail(new DataError({ file: directory, reason: "has no .jsonl files" }))
      return Stream.flatMap(Stream.fromArray(paths), rowsIn)
    })
  )

/** A row that names no data set belongs to the data set of its file. */
const rowsIn = (file: string): TrainingRows =>
  Stream.unwrap(Effect.map(FileSystem.FileSystem, (files) => files.stream(file))).pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line !== ""),
    Stream.mapEffect((line) =>
      Schema.decodeEffect(RowText)(line).pipe(
        Effect.map((row) => ({ ...row, dataset: row.dataset ?? file })),
        Effect.mapError((error) => new DataError({ file, reason: `${error.message} in ${line.slice(0, 80)}` }))
      )
    )
  )
