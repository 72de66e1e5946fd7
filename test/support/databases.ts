/**
 * Prepares, once per run, what suites make their databases from: an empty directory of the embedded engine, which is
 * kept between runs because making it takes seconds, and a PostgreSQL server where one is available.
 *
 * PostgreSQL is the server of `TEST_DATABASE_URL`, or else one that is started here from the binaries of this machine.
 * Everything else that a run makes is in one temporary directory, which is deleted at the end of the run, or at the
 * start of the next one if it was killed.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { PGlite } from "@electric-sql/pglite"
import type { TestProject } from "vitest/node"

import * as PostgresServer from "./PostgresServer.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** A data directory of the embedded engine without any tables. */
    readonly embeddedTemplate: string
    /** The directory in which suites put their files. */
    readonly scratch: string
    /** The URL of a server on which suites may make databases; `undefined` when there is none. */
    readonly postgresUrl: string | undefined
  }
}

const embeddedTemplate = async (): Promise<string> => {
  const cache = join(import.meta.dirname, "../../node_modules/.cache/tollgate")
  const manifest = join(import.meta.dirname, "../../node_modules/@electric-sql/pglite/package.json")
  const template = join(cache, `pglite-${JSON.parse(readFileSync(manifest, "utf8")).version}`)
  if (existsSync(template)) return template
  mkdirSync(cache, { recursive: true })
  const made = mkdtempSync(`${template}-`)
  const database = await PGlite.create(join(made, "postgres"))
  await database.close()
  try {
    renameSync(made, template)
  } catch {
    // Another run has made it in the meantime.
    rmSync(made, { recursive: true })
  }
  return template
}

interface Server {
  readonly url: string
  readonly stop: () => Promise<void>
}

const postgres = async (bin: string | undefined, scratch: string): Promise<Server | undefined> => {
  const url = process.env["TEST_DATABASE_URL"]
  if (url !== undefined && url !== "") return { url, stop: () => Promise.resolve() }
  if (bin === undefined) return undefined
  try {
    return await PostgresServer.start(bin, join(scratch, serverDirectory), { fsync: "off", max_connections: 200 })
  } catch {
    // The binaries exist but do not start, for example as root without a postgres user: the run reports what it
    // skipped.
    return undefined
  }
}

const serverDirectory = "postgres"
const scratchPrefix = "tollgate-test-"

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // EPERM: the process is alive and belongs to another user.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}

/** Deletes what killed runs have left behind. */
const clearAbandoned = async (bin: string | undefined): Promise<void> => {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(scratchPrefix))) {
    if (isAlive(Number(name.slice(scratchPrefix.length)))) continue
    const data = join(tmpdir(), name, serverDirectory, "data")
    if (bin !== undefined && existsSync(join(data, "postmaster.pid"))) {
      try {
        await PostgresServer.stop(bin, data)
      } catch {
        // The server died with its run.
      }
    }
    rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const bin = PostgresServer.binaries()
  await clearAbandoned(bin)
  const scratch = join(tmpdir(), `${scratchPrefix}${process.pid}`)
  mkdirSync(scratch)
  const [template, server] = await Promise.all([embeddedTemplate(), postgres(bin, scratch)])
  project.provide("embeddedTemplate", template)
  project.provide("scratch", scratch)
  project.provide("postgresUrl", server?.url)
  return async () => {
    await server?.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}
