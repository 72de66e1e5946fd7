/**
 * The whole gateway against the floor, `npm run bench -- gateway`: a bare `node:http` proxy that parses and encodes
 * what it passes on, before the same provider. The gateway authenticates, limits, holds, settles and logs on a
 * PostgreSQL that flushes every commit. Rounds take turns, and medians are compared. Ratios travel; absolute figures
 * do not.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { Agent, createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { text as readAll } from "node:stream/consumers"
import { setTimeout as pause } from "node:timers/promises"

import { quantile } from "../../tools/router-training/Metrics.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "5")
const roundMillis = Number(process.env["BENCH_ROUND_MILLIS"] ?? "4000")
const warmUpMillis = 2_000
const callers = 32
const steadyPerSecond = 200
const streamedChunks = 1_000
const chunksAtOnce = 10
const key = "tg-bench"
const path = "/v1/chat/completions"
const json = { "content-type": "application/json" }

const messages = [
  { role: "system", content: "You are helpful." },
  { role: "user", content: "Tell me a short greeting for a friendly letter to an old friend from school, please." }
]
const kinds = {
  plain: { model: "gpt-4o-mini", messages },
  "svc-auto": { reasoning_effort: "none", messages },
  [`stream of ${streamedChunks}`]: { model: "gpt-4o-mini", stream: true, messages }
} as const

const encodeEvent = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

/** Answers every model at once. */
const provide = (port: number): void => {
  const base = { id: "x", created: 1, model: "m" }
  const usage = { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39 }
  const message = { role: "assistant", content: "Hello there, how are you today?" }
  const plain = JSON.stringify({
    ...base,
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage
  })
  const chunk = (delta: object, finish: string | null = null) =>
    encodeEvent({
      ...base,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
  const some = chunk({ content: " word" }).repeat(chunksAtOnce)
  const totals = encodeEvent({ ...base, object: "chat.completion.chunk", choices: [], usage })
  const last = `${chunk({}, "stop")}${totals}data: [DONE]\n\n`
  createServer(async (incoming, response) => {
    if (!(await readAll(incoming)).includes('"stream":true')) return response.writeHead(200, json).end(plain)
    response.writeHead(200, { "content-type": "text/event-stream" })
    let left = streamedChunks / chunksAtOnce
    const write = (): void => {
      if (left-- === 0) return void response.end(last)
      response.write(some)
      setImmediate(write)
    }
    write()
  }).listen(port, "127.0.0.1")
}

/** The least that any proxy does. */
const passOn = (port: number, to: number): void => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  createServer(async (incoming, response) => {
    const asked = JSON.parse(await readAll(incoming)) as { readonly stream?: boolean }
    const body = JSON.stringify(asked)
    const headers = { ...json, "content-length": Buffer.byteLength(body) }
    request({ host: "127.0.0.1", port: to, path, method: "POST", agent, headers }, async (answer) => {
      if (asked.stream !== true) {
        return void response.writeHead(200, json).end(JSON.stringify(JSON.parse(await readAll(answer))))
      }
      response.writeHead(200, { "content-type": "text/event-stream" })
      let rest = ""
      for await (const part of answer) {
        const events = (rest + part.toString()).split("\n\n")
        rest = events.pop() ?? ""
        const done = (event: string): boolean => event === "data: [DONE]"
        const encoded = events.map((event) => (done(event) ? `${event}\n\n` : encodeEvent(JSON.parse(event.slice(6)))))
        response.write(encoded.join(""))
      }
      response.end()
    }).end(body)
  }).listen(port, "127.0.0.1")
}

interface Target {
  readonly url: string
  readonly child: ChildProcess
}

/** Seconds of processor time that a process has used, where the system tells. */
const cpuOf = ({ child: { pid } }: Target): number => {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return Number.NaN
  const fields = readFileSync(file, "utf8").split(") ")[1]?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_024 })

/** Milliseconds until the answer was there. */
const ask = ({ url }: Target, body: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const headers = { ...json, authorization: `Bearer ${key}`, "content-length": Buffer.byteLength(body) }
    const call = request(url + path, { method: "POST", agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`))
      answer.on("data", () => {}).on("end", () => resolve(performance.now() - startedAt))
    })
    call.on("error", reject).end(body)
  })

/** As much as it takes from callers that ask again at once. */
const flood = async (target: Target, body: string) => {
  let [answers, goesOn] = [0, true]
  const caller = async (): Promise<void> => {
    while (goesOn) {
      await ask(target, body)
      answers++
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  await pause(warmUpMillis)
  const [before, cpu, startedAt] = [answers, cpuOf(target), performance.now()]
  await pause(roundMillis)
  const [seconds, answered] = [(performance.now() - startedAt) / 1_000, answers - before]
  const figures = { perSecond: answered / seconds, cpuMicros: ((cpuOf(target) - cpu) * 1e6) / answered }
  goesOn = false
  await all
  return figures
}

/** Latencies of requests that come whether or not the ones before were answered. */
const steady = async (target: Target, body: string) => {
  const latencies: Array<Promise<number>> = []
  const startedAt = performance.now()
  for (let sent = 0; sent * 1_000 < steadyPerSecond * roundMillis; sent++) {
    await pause(Math.max(0, startedAt + (sent * 1_000) / steadyPerSecond - performance.now()))
    latencies.push(ask(target, body))
  }
  const all = await Promise.all(latencies)
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99) }
}

const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

const compare = async (gateway: Target, floor: Target): Promise<void> => {
  const table: Array<object> = []
  for (const [kind, asked] of Object.entries(kinds)) {
    const [bodyOf, ratios, cpu]: [string, Array<number>, Array<number>] = [JSON.stringify(asked), [], []]
    const [own, least]: [Array<number>, Array<number>] = [[], []]
    for (let count = 0; count < rounds; count++) {
      const [a, b] = [await flood(floor, bodyOf), await flood(gateway, bodyOf)]
      ratios.push(b.perSecond / a.perSecond)
      cpu.push(b.cpuMicros / a.cpuMicros)
      own.push(b.perSecond)
      least.push(a.perSecond)
    }
    table.push({
      kind,
      "gateway, per second": Math.round(median(own)),
      "floor, per second": Math.round(median(least)),
      "gateway / floor": median(ratios).toFixed(2),
      "processor time, gateway / floor": median(cpu).toFixed(2)
    })
  }
  console.table(table)
  const body = JSON.stringify(kinds.plain)
  const added: Array<{ readonly p50: number; readonly p99: number }> = []
  for (let count = 0; count < rounds; count++) {
    const [a, b] = [await steady(floor, body), await steady(gateway, body)]
    added.push({ p50: b.p50 - a.p50, p99: b.p99 - a.p99 })
  }
  const [p50, p99] = [median(added.map((one) => one.p50)), median(added.map((one) => one.p99))]
  console.log(`added at ${steadyPerSecond} per second: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
}

const main = async (): Promise<void> => {
  const bin = PostgresServer.binaries()
  if (bin === undefined) return console.error("This needs the binaries of PostgreSQL (initdb, pg_ctl).")
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  // PostgreSQL may run as another user.
  chmodSync(directory, 0o755)
  const server = await PostgresServer.start(bin, join(directory, "postgres"), { max_connections: 60 })
  const children: Array<ChildProcess> = []
  const start = (port: number, ...role: ReadonlyArray<string>): Target => {
    const child = spawn(process.execPath, [import.meta.filename, ...role], { stdio: "inherit" })
    children.push(child)
    return { url: `http://127.0.0.1:${port}`, child }
  }
  try {
    const ports = await Promise.all([PostgresServer.freePort(), PostgresServer.freePort(), PostgresServer.freePort()])
    const [own, least, provider] = ports
    const behind = start(provider, "provide", String(provider))
    const floor = start(least, "pass-on", String(least), String(provider))
    const gateway = new GatewayProcess(own, {
      DATABASE_URL: server.url,
      BOOTSTRAP_API_KEY: key,
      BOOTSTRAP_CREDIT_USD: "100000",
      RATE_LIMIT_RPM: "100000000",
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `${behind.url}/v1`
    })
    children.push(gateway.child)
    if (await gateway.ready) await compare(gateway, floor)
    else console.error(gateway.lines.join(""))
  } finally {
    for (const child of children) child.kill()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

const [role, port, to] = process.argv.slice(2)
if (role === "provide") provide(Number(port))
else if (role === "pass-on") passOn(Number(port), Number(to))
else await main()
