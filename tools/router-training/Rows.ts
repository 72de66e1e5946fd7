/**
 * Training data: JSON Lines, one row per prompt. A row says what the prompt is about (`labels`, or a `category` or
 * `cluster` name), or how well models did on it (`scores`, or `strong` and `weak`), or both. Read as a stream, so that
 * the data may be larger than memory.
 */
import { Data, Effect, FileSystem, type PlatformError, Schema, Stream } from "effect"

const Score = Schema.NullOr(Schema.Finite)

export const Row = Schema.Struct({
  id: Schema.optional(Schema.String),
  prompt: Schema.String,
  /** Rows of one source weigh less the more there are. */
  source: Schema.optional(Schema.String),
  dataset: Schema.optional(Schema.String),
  licence: Schema.optional(Schema.String),
  labels: Schema.optional(Schema.Array(Schema.String)),
  category: Schema.optional(Schema.String),
  /** Of chat: from 1, any model answers it well, over 3, usual for its category, to 5, only the best do. */
  grade: Schema.optional(Schema.Literals([1, 2, 3, 4, 5])),
  cluster: Schema.optional(Schema.String),
  /** Share of the answer that was right, 0 to 1, per model. */
  scores: Schema.optional(Schema.Record(Schema.String, Score)),
  /** What each model's answer cost, in any one unit. */
  cost: Schema.optional(Schema.Record(Schema.String, Score)),
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

/** What a row's numbers are compared within. */
export const setOf = (row: Row): string => row.source ?? row.dataset ?? "unnamed"

/** Identifies a row wherever it stands. */
export const rowKeyOf = (row: Row): string => row.id ?? row.prompt

/** Licences that forbid commercial use, or that nobody has stated. */
export const mayTrainOn = ({ licence }: Row): boolean =>
  licence === undefined || !/\bNC\b|\bno(ne)?\b|^$/i.test(licence)

/** All rows of all files below the directories that end in `.jsonl`, in the order of their paths. */
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

/** A row that names no set belongs to that of its file. */
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
