/**
 * Prepares, once per run, what the suites copy their databases from: an empty directory of the embedded engine (kept
 * between runs, because making it takes seconds) and a PostgreSQL server, when one can be had.
 *
 * PostgreSQL is the server of `TEST_DATABASE_URL`, else one started here from the binaries of this machine. All that a
 * run makes is in one temporary directory, gone at its end, or at the start of the next run if it was killed.
 */
import { execFileSync } from "node:child_process"
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { delimiter, join } from "node:path"

import { PGlite } from "@electric-sql/pglite"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** A directory of the embedded engine, empty but for what the engine itself needs. */
    readonly embeddedTemplate: string
    /** Where suites put their files. */
    readonly scratch: string
    /** A server on which suites may make databases; `undefined` when there is none. */
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
    // Another run was faster.
    rmSync(made, { recursive: true })
  }
  return template
}

const binaries = (): string | undefined => {
  const installed = "/usr/lib/postgresql"
  const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => Number(b) - Number(a)) : []
  const places = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(installed, version, "bin"))
  ]
  return places.find((place) => existsSync(join(place, "initdb")) && existsSync(join(place, "pg_ctl")))
}

/** PostgreSQL refuses to run as root; there, it runs as the user its package made. */
const asRoot = userInfo().uid === 0
const run = (command: string, ...args: ReadonlyArray<string>): void => {
  const [file, all] = asRoot ? ["runuser", ["-u", "postgres", "--", command, ...args]] : [command, args]
  execFileSync(file, all, { cwd: tmpdir(), stdio: "ignore" })
}

const ownBy = (user: string, path: string): void => {
  const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }))
  chownSync(path, id("-u"), id("-g"))
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

interface Server {
  readonly url: string
  readonly stop: () => void
}

const stopServer = (bin: string, data: string): void => run(join(bin, "pg_ctl"), "-D", data, "-m", "immediate", "stop")

const startServer = async (bin: string, scratch: string): Promise<Server> => {
  const directory = join(scratch, serverDirectory)
  mkdirSync(directory)
  if (asRoot) ownBy("postgres", directory)
  const data = join(directory, "data")
  const port = await freePort()
  const settings = `-h 127.0.0.1 -p ${port} -k ${directory} -c fsync=off -c max_connections=200`
  run(join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--no-locale")
  run(join(bin, "pg_ctl"), "-D", data, "-w", "-l", join(directory, "log"), "-o", settings, "start")
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    stop: () => stopServer(bin, data)
  }
}

const postgres = async (bin: string | undefined, scratch: string): Promise<Server | undefined> => {
  const url = process.env["TEST_DATABASE_URL"]
  if (url !== undefined && url !== "") return { url, stop: () => {} }
  if (bin === undefined) return undefined
  try {
    return await startServer(bin, scratch)
  } catch {
    // Found but not startable, for example as root without a postgres user: the run says that PostgreSQL was left out.
    return undefined
  }
}

const serverDirectory = "postgres"
const scratchPrefix = "tollgate-test-"

const lives = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // EPERM: it lives, as another user.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}

/** Clears away what runs that were killed have left. */
const clearAbandoned = (bin: string | undefined): void => {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(scratchPrefix))) {
    if (lives(Number(name.slice(scratchPrefix.length)))) continue
    const data = join(tmpdir(), name, serverDirectory, "data")
    if (bin !== undefined && existsSync(join(data, "postmaster.pid"))) {
      try {
        stopServer(bin, data)
      } catch {
        // It died with its run.
      }
    }
    rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

export const setup = async (project: TestProject): Promise<() => void> => {
  const bin = binaries()
  clearAbandoned(bin)
  const scratch = join(tmpdir(), `${scratchPrefix}${process.pid}`)
  mkdirSync(scratch)
  const [template, server] = await Promise.all([embeddedTemplate(), postgres(bin, scratch)])
  project.provide("embeddedTemplate", template)
  project.provide("scratch", scratch)
  project.provide("postgresUrl", server?.url)
  return () => {
    server?.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}
