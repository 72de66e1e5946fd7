/**
 * The files of an empty database of the embedded engine with the tables of earlier migrations, shipped beside this
 * file: unpacking them takes a tenth of the time and of the memory of making them. `npm run database` makes the
 * archive.
 *
 * The rule: a database directory exists with all of its files or not at all. They are unpacked beside it, and renaming
 * is the last step, so that a start after one that was killed finds either nothing or everything.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"

export const archivePath = join(import.meta.dirname, "empty-database.zst")

/** The first line of the archive, in JSON. The contents follow it. */
export interface DatabaseFiles {
  readonly directories: ReadonlyArray<string>
  /** `bytes` of the contents from `start` on, and then zeros, up to `length`. */
  readonly files: ReadonlyArray<{
    readonly path: string
    readonly start: number
    readonly bytes: number
    readonly length: number
  }>
}

/** More than the archive unpacks to. In smaller pieces it would be in memory twice. */
const archiveBytes = 32 * 1024 * 1024

const unpack = (directory: string): void => {
  const archive = zstdDecompressSync(readFileSync(archivePath), { chunkSize: archiveBytes })
  const endOfLine = archive.indexOf("\n")
  const { directories, files } = JSON.parse(archive.toString("utf8", 0, endOfLine)) as DatabaseFiles
  const contents = archive.subarray(endOfLine + 1)
  // The engine refuses a directory that others may read.
  for (const path of directories) mkdirSync(join(directory, path), { recursive: true, mode: 0o700 })
  for (const { bytes, length, path, start } of files) {
    const file = join(directory, path)
    writeFileSync(file, contents.subarray(start, start + bytes), { mode: 0o600 })
    if (length > bytes) truncateSync(file, length)
  }
}

/** Makes an empty database at `path`, unless there is one. */
export const createIfMissing = (path: string): void => {
  if (existsSync(join(path, "PG_VERSION"))) return
  const partial = `${path}.partial`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true, mode: 0o700 })
  unpack(partial)
  renameSync(partial, path)
}
