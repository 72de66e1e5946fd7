/** A PostgreSQL server of our own from the binaries of this machine, which suites and benchmarks may kill. */
import { execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { delimiter, join } from "node:path"

export interface PostgresServer {
  readonly url: string
  /** What the server says, as a file. */
  readonly log: string
  /** Kills the server as a power cut would and starts it again, on the same port. Done when it answers. */
  readonly crash: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Where `initdb` and `pg_ctl` are, if they are anywhere. */
export const binaries = (): string | undefined => {
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
const run = (command: string, ...args: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const [file, all] = asRoot ? ["runuser", ["-u", "postgres", "--", command, ...args]] : [command, args]
    // Without pipes: the server would inherit them, and they would stay open for as long as it runs.
    const child = spawn(file, all, { cwd: tmpdir(), stdio: "ignore" })
    child.once("error", reject)
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}`))))
  })

const ownBy = (user: string, path: string): void => {
  const id = (flag: string) => Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }))
  chownSync(path, id("-u"), id("-g"))
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Ends a server by the directory of its data, also one that another process has started. */
export const stop = (bin: string, data: string): Promise<void> =>
  run(join(bin, "pg_ctl"), "-D", data, "-m", "immediate", "stop")

/** Starts a new, empty server in `directory`, which is made. */
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
  const control = (...args: ReadonlyArray<string>) => run(join(bin, "pg_ctl"), "-D", data, "-w", "-l", log, ...args)
  await run(join(bin, "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--no-locale")
  await control("-o", options, "start")
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    log,
    crash: () => control("-m", "immediate", "restart"),
    stop: () => stop(bin, data)
  }
}
