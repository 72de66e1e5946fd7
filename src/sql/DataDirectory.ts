/**
 * The data directory of the embedded database. The rule: only one process may open it, because two would corrupt each
 * other's pages.
 *
 * The owner of a directory writes its process id to a lock file. The lock of a process that is no longer alive is taken
 * over, so that a gateway which was killed can start again without help.
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

/**
 * The directories that this process has open. A lock with the id of this process is otherwise left from an earlier
 * process that had the same id.
 */
const openInThisProcess = new Set<string>()

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // EPERM: the process is alive and belongs to another user.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}

/**
 * The live process that owns the directory, if there is one. In a container every start has the same process id, so the
 * id of this process in the lock file means a process that has died.
 */
const ownerOf = (directory: string, lockFile: string): number | undefined => {
  if (openInThisProcess.has(directory)) return process.pid
  const pid = Number.parseInt(readFileSync(lockFile, "utf8"), 10)
  return Number.isSafeInteger(pid) && pid > 0 && pid !== process.pid && isAlive(pid) ? pid : undefined
}

/** Whether this process has created the lock file. */
const createLockFile = (lockFile: string): boolean => {
  try {
    writeFileSync(lockFile, `${process.pid}\n`, { flag: "wx" })
    return true
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return false
    throw cause
  }
}

/** Takes the lock; returns the process that owns the directory instead, if there is one. */
const lock = (directory: string, lockFile: string): number | undefined => {
  mkdirSync(directory, { recursive: true })
  if (!createLockFile(lockFile)) {
    const owner = ownerOf(directory, lockFile)
    if (owner !== undefined) return owner
    rmSync(lockFile, { force: true })
    if (!createLockFile(lockFile)) return Number.parseInt(readFileSync(lockFile, "utf8"), 10)
  }
  openInThisProcess.add(directory)
  return undefined
}

/** The path of the database files in a data directory. */
export const databaseIn = (directory: string): string => join(resolve(directory), "postgres")

/**
 * Locks the directory until the scope closes, and creates it if it does not exist. Returns the path of the database
 * files.
 */
export const lockDataDirectory = (path: string): Effect.Effect<string, DataDirectoryError, Scope.Scope> => {
  const directory = resolve(path)
  const lockFile = join(directory, "gateway.pid")
  const acquire = Effect.try({
    try: () => lock(directory, lockFile),
    catch: (cause) => unusable(directory, cause)
  }).pipe(Effect.flatMap((owner) => (owner === undefined ? Effect.void : Effect.fail(inUse(directory, owner)))))
  const release = Effect.sync(() => {
    openInThisProcess.delete(directory)
    rmSync(lockFile, { force: true })
  })
  return Effect.as(
    Effect.acquireRelease(acquire, () => release),
    databaseIn(directory)
  )
}
