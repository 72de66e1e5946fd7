/**
 * The directory of the embedded database, which only one process may open: two would destroy each other's pages.
 *
 * A file with the owner's process id marks it as taken. The mark of a process that no longer lives is taken over, so a
 * killed gateway starts again by itself.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import process from "node:process"

import { Data, Effect, type Scope } from "effect"

export class DataDirectoryError extends Data.TaggedError("DataDirectoryError")<{
  readonly reason: "InUse" | "Unusable"
  readonly message: string
  readonly cause?: unknown
}> {}

export const unusable = (directory: string, cause: unknown): DataDirectoryError =>
  new DataDirectoryError({
    reason: "Unusable",
    message: `Cannot use the data directory ${directory}: ${cause instanceof Error ? cause.message : String(cause)}`,
    cause
  })

const inUse = (directory: string, pid: number): DataDirectoryError =>
  new DataDirectoryError({
    reason: "InUse",
    message:
      `The data directory ${directory} is in use by process ${pid}. ` +
      "Stop that process, choose another directory, or use PostgreSQL to run several gateways on one database."
  })

/** Directories open in this process; a mark with our own id is otherwise one of an earlier boot with the same id. */
const openHere = new Set<string>()

const lives = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // EPERM: it lives, as another user.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}

/** The process that has the directory, if one does. Containers give every boot the same id, so ours counts as dead. */
const ownerOf = (directory: string, mark: string): number | undefined => {
  if (openHere.has(directory)) return process.pid
  const pid = Number.parseInt(readFileSync(mark, "utf8"), 10)
  return Number.isSafeInteger(pid) && pid > 0 && pid !== process.pid && lives(pid) ? pid : undefined
}

const writeMark = (mark: string): boolean => {
  try {
    writeFileSync(mark, `${process.pid}\n`, { flag: "wx" })
    return true
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return false
    throw cause
  }
}

/** The owner that kept us out, or `undefined` when the directory is ours now. */
const take = (directory: string, mark: string): number | undefined => {
  mkdirSync(directory, { recursive: true })
  if (!writeMark(mark)) {
    const owner = ownerOf(directory, mark)
    if (owner !== undefined) return owner
    rmSync(mark, { force: true })
    if (!writeMark(mark)) return Number.parseInt(readFileSync(mark, "utf8"), 10)
  }
  openHere.add(directory)
  return undefined
}

/** Where the database's files are in a data directory. */
export const databaseIn = (directory: string): string => join(resolve(directory), "postgres")

/** Takes the directory for as long as the scope lives, making it if need be; answers where the database's files go. */
export const lockDataDirectory = (path: string): Effect.Effect<string, DataDirectoryError, Scope.Scope> => {
  const directory = resolve(path)
  const mark = join(directory, "gateway.pid")
  const taken = Effect.try({
    try: () => take(directory, mark),
    catch: (cause) => unusable(directory, cause)
  }).pipe(Effect.flatMap((owner) => (owner === undefined ? Effect.void : Effect.fail(inUse(directory, owner)))))
  const released = Effect.sync(() => {
    openHere.delete(directory)
    rmSync(mark, { force: true })
  })
  return Effect.as(
    Effect.acquireRelease(taken, () => released),
    databaseIn(directory)
  )
}
