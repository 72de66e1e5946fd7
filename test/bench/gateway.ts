/**
 * The whole gateway against a bare `node:http` proxy, `npm run bench -- gateway`. The proxy only parses and encodes
 * what it passes on to the same provider; the gateway authenticates, limits, holds, settles and logs, on a PostgreSQL
 * that flushes every commit. Rounds alternate between the two, and the medians are compared. The ratios can be compared
 * between machines; the absolute figures cannot.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { Agent, createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { text as readAll } from "node:stream/consumers"
import { finished } from "node:stream/promises"
import { setTimeout as pause } from "node:timers/promises"

import { quantile } from "../../tools/router-training/Metrics.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import { drive } from "../support/HttpDriver.ts"
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

const greeting = "Hello there, how are you today?"

/** A script for the fake provider: answers every request at once, and streams as fast as the connection takes it. */
const atOnce = (): Fake.Behaviour => {
  const usage = { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39 }
  const { end, plain, start } = Fake.answerIn("openai-chat", { usage })
  const answer = Fake.reply(200, JSON.stringify(plain(greeting)))
  // Routing may choose a model of another protocol.
  const inOtherProtocol = Fake.answers(greeting)
  const some = Fake.openaiChunk({ content: " word" }).repeat(chunksAtOnce)
  return (response, received) => {
    if (!received.path.endsWith("/chat/completions")) return inOtherProtocol(response, received)
    if (!received.text.includes('"stream":true')) return answer(response, received)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(Buffer.concat(start))
    let left = streamedChunks / chunksAtOnce
    const write = (): void => {
      if (left-- === 0) return void response.end(Buffer.concat(end))
      response.write(some)
      setImmediate(write)
    }
    write()
  }
}

/** A proxy that does as little as any proxy can: it parses and encodes what it passes on. */
const bareProxy = (port: number, to: number): void => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  createServer({ keepAliveTimeout: 600_000 }, async (incoming, response) => {
    const call = JSON.parse(await readAll(incoming)) as { readonly stream?: boolean }
    const body = JSON.stringify(call)
    const headers = { ...json, "content-length": Buffer.byteLength(body) }
    request({ host: "127.0.0.1", port: to, path, method: "POST", agent, headers }, async (answer) => {
      if (call.stream !== true) {
        return void response.writeHead(200, json).end(JSON.stringify(JSON.parse(await readAll(answer))))
      }
      response.writeHead(200, { "content-type": "text/event-stream" })
      let rest = ""
      for await (const part of answer) {
        const events = (rest + part.toString()).split("\n\n")
        rest = events.pop() ?? ""
        const isDone = (event: string): boolean => event === "data: [DONE]"
        const encoded = events.map((event) =>
          isDone(event) ? Fake.openaiDone : Fake.dataEvent(JSON.parse(event.slice("data: ".length)))
        )
        response.write(encoded.join(""))
      }
      response.end()
    })
      .on("error", () => response.destroy())
      .end(body)
  }).listen(port, "127.0.0.1")
}

interface Server {
  readonly url: string
  readonly child: ChildProcess
}

/** Seconds of processor time that a process has used; not a number where there is no `/proc`. */
const cpuOf = ({ child: { pid } }: Server): number => {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return Number.NaN
  const fields = readFileSync(file, "utf8").split(") ")[1]?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_024 })

/** The bench fails when more than this share of its requests was lost. */
const lostShareMax = 0.01
let sent = 0
/** How often each kind of fault was met: a request that was sent again, or one that was lost in the end. */
const faults = { sentAgain: new Map<string, number>(), lost: new Map<string, number>() }

const count = (map: Map<string, number>, error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error)
  map.set(message, (map.get(message) ?? 0) + 1)
}

/**
 * Sends one request and gives the milliseconds until its answer was complete; `undefined` for one that was lost. What
 * was charged is of no interest here, so a request may be sent again although it may have arrived.
 */
const latency = async ({ url }: Server, body: string): Promise<number | undefined> => {
  sent++
  try {
    const startedAt = performance.now()
    const answer = await drive(url + path, {
      method: "POST",
      agent,
      headers: { ...json, authorization: `Bearer ${key}`, "content-length": String(Buffer.byteLength(body)) },
      body,
      isRepeatable: true,
      onRetry: (reason) => count(faults.sentAgain, reason)
    })
    await finished(answer.resume())
    if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
    return performance.now() - startedAt
  } catch (error) {
    return void count(faults.lost, error)
  }
}

const reportFaults = (): void => {
  const lost = [...faults.lost.values()].reduce((sum, times) => sum + times, 0)
  console.log({ requests: sent, lost: Object.fromEntries(faults.lost), again: Object.fromEntries(faults.sentAgain) })
  if (lost <= sent * lostShareMax) return
  console.error(`${lost} of ${sent} requests were lost: the figures above prove nothing.`)
  process.exitCode = 1
}

/** The throughput under callers that send their next request as soon as they are answered. */
const throughput = async (server: Server, body: string) => {
  let [answers, continues] = [0, true]
  const caller = async (): Promise<void> => {
    while (continues) {
      if ((await latency(server, body)) !== undefined) answers++
    }
  }
  const all = Promise.all(Array.from({ length: callers }, caller))
  await pause(warmUpMillis)
  const [before, cpu, startedAt] = [answers, cpuOf(server), performance.now()]
  await pause(roundMillis)
  const [seconds, answered] = [(performance.now() - startedAt) / 1_000, answers - before]
  const figures = { perSecond: answered / seconds, cpuMicros: ((cpuOf(server) - cpu) * 1e6) / answered }
  continues = false
  await all
  return figures
}

/** Latencies at a steady rate, at which requests do not wait for the answers of earlier ones. */
const steady = async (server: Server, body: string) => {
  const latencies: Array<Promise<number | undefined>> = []
  const startedAt = performance.now()
  for (let sent = 0; sent * 1_000 < steadyPerSecond * roundMillis; sent++) {
    await pause(Math.max(0, startedAt + (sent * 1_000) / steadyPerSecond - performance.now()))
    latencies.push(latency(server, body))
  }
  const all = (await Promise.all(latencies)).filter((millis) => millis !== undefined)
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99) }
}

const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

const compare = async (gateway: Server, proxy: Server): Promise<void> => {
  const table: Array<object> = []
  for (const [kind, request] of Object.entries(kinds)) {
    const body = JSON.stringify(request)
    const [ratios, cpu]: [Array<number>, Array<number>] = [[], []]
    const [ofGateway, ofProxy]: [Array<number>, Array<number>] = [[], []]
    for (let count = 0; count < rounds; count++) {
      const [a, b] = [await throughput(proxy, body), await throughput(gateway, body)]
      ratios.push(b.perSecond / a.perSecond)
      cpu.push(b.cpuMicros / a.cpuMicros)
      ofGateway.push(b.perSecond)
      ofProxy.push(a.perSecond)
    }
    table.push({
      kind,
      "gateway, per second": Math.round(median(ofGateway)),
      "bare proxy, per second": Math.round(median(ofProxy)),
      "gateway / proxy": median(ratios).toFixed(2),
      "processor time, gateway / proxy": median(cpu).toFixed(2)
    })
  }
  console.table(table)
  const body = JSON.stringify(kinds.plain)
  const added: Array<{ readonly p50: number; readonly p99: number }> = []
  for (let count = 0; count < rounds; count++) {
    const [a, b] = [await steady(proxy, body), await steady(gateway, body)]
    added.push({ p50: b.p50 - a.p50, p99: b.p99 - a.p99 })
  }
  const [p50, p99] = [median(added.map((one) => one.p50)), median(added.map((one) => one.p99))]
  console.log(`added at ${steadyPerSecond} per second: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
}

const main = async (): Promise<void> => {
  const bin = PostgresServer.binaries()
  if (bin === undefined) return console.error("This benchmark needs the binaries of PostgreSQL (initdb, pg_ctl).")
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  // PostgreSQL may run as another user, who must be able to enter the directory.
  chmodSync(directory, 0o755)
  const server = await PostgresServer.start(bin, join(directory, "postgres"), { max_connections: 60 })
  const children: Array<ChildProcess> = []
  const start = (port: number, ...role: ReadonlyArray<string>): Server => {
    const child = spawn(process.execPath, [import.meta.filename, ...role], { stdio: "inherit" })
    children.push(child)
    return { url: `http://127.0.0.1:${port}`, child }
  }
  try {
    const ports = await Promise.all([PostgresServer.freePort(), PostgresServer.freePort(), PostgresServer.freePort()])
    const [gatewayPort, proxyPort, providerPort] = ports
    const provider = start(providerPort, "provider", String(providerPort))
    const proxy = start(proxyPort, "proxy", String(proxyPort), String(providerPort))
    const gateway = new GatewayProcess(gatewayPort, {
      DATABASE_URL: server.url,
      BOOTSTRAP_API_KEY: key,
      BOOTSTRAP_CREDIT_USD: "100000",
      RATE_LIMIT_RPM: "100000000",
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `${provider.url}/v1`
    })
    children.push(gateway.child)
    if (await gateway.ready) await compare(gateway, proxy).finally(reportFaults)
    else console.error(gateway.output.join(""))
  } finally {
    for (const child of children) child.kill()
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

const [role, port, to] = process.argv.slice(2)
if (role === "provider") (await Fake.FakeServer.start({ port: Number(port), records: false })).script(atOnce())
else if (role === "proxy") bareProxy(Number(port), Number(to))
else await main()
