/** A PostgreSQL server started from the binaries of this machine, which suites and benchmarks may crash. */
import { execFileSync, spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { delimiter, join } from "node:path"

export interface PostgresServer {
  readonly url: string
  /** The path of the log file. */
  readonly log: string
  /** Ends the server at once, as a power cut does, and starts it again on the same port. Resolves when it answers. */
  readonly crash: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** The directory of `initdb` and `pg_ctl`; `undefined` when they are not installed. */
export const binaries = (): string | undefined => {
  const installed = "/usr/lib/postgresql"
  const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => Number(b) - Number(a)) : []
  const places = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(installed, version, "bin"))
  ]
  return places.find((place) => existsSync(join(place, "initdb")) && existsSync(join(place, "pg_ctl")))
}

/** PostgreSQL refuses to run as root; as root, it is started as the user that its package created. */
const asRoot = userInfo().uid === 0
const run = (command: string, ...args: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const [file, all] = asRoot ? ["runuser", ["-u", "postgres", "--", command, ...args]] : [command, args]
    // Without pipes, because the server would inherit them and keep them open for as long as it runs.
    const child = spawn(file, all, { cwd: tmpdir(), stdio: "ignore" })
    child.once("error", reject)
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}`))))
  })

const ownBy = (user: string, path: string): void => {
  const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }))
  chownSync(path, id("-u"), id("-g"))
}

/**
 * Ports from here on are free for servers: systems give those from 32,768 or 49,152 on to connections that go out, one
 * of which could take a port between the moment at which it is chosen and the one at which it is listened on.
 */
const [firstPort, lastPort] = [10_000, 32_000]

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

/** A port that nothing listens on, and that no connection takes before a server does. */
export const freePort = async (): Promise<number> => {
  while (true) {
    const port = randomInt(firstPort, lastPort)
    if (await isFree(port)) return port
  }
}

/** Ends the server of a data directory, whichever process has started it. */
export const stop = (bin: string, data: string): Promise<void> =>
  run(join(bin, "pg_ctl"), "-D", data, "-m", "immediate", "stop")

/** Creates `directory` and starts a new, empty server in it. */
export const start = async (
  bin: string,
  directory: string,
  settings: { readonly [name: string]: string | number }
): Promise<PostgresServer> => {
  mkdirSync(directory)
  if (asRoot) ownBy("postgres", directory)
  const data = join(directory, "data")
  const log = join(directory, "log")
  const port = await freePort()
  const set = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  const options = [`-h 127.0.0.1 -p ${port} -k ${directory}`, ...set].join(" ")
  const control = (...args: ReadonlyArray<string>) =>
    run(join(bin, "pg_ctl"), "-D", data, "-w", "-t", "300", "-l", log, ...args)
  await run(join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--no-locale")
  await control("-o", options, "start")
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    log,
    crash: () => control("-m", "immediate", "restart"),
    stop: () => stop(bin, data)
  }
}
