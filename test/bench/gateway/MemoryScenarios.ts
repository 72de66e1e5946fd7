/** Resident memory of a gateway: of streams that stay open, and over many requests. */
import { Agent, type IncomingMessage } from "node:http"
import { setTimeout as pause } from "node:timers/promises"

import { drive } from "../../support/HttpDriver.ts"
import { type Figure, lineThrough } from "./BenchFigures.ts"
import { type BenchServer, cpuOf } from "./BenchLoad.ts"
import { slowStreamText } from "./BenchProvider.ts"
import type { Bench, BenchScenario } from "./BenchScenario.ts"
import { chat, plainCall } from "./ChatScenarios.ts"
import { always } from "./Comparison.ts"
import { residentBytesOf } from "./ProcessFigures.ts"

const streamCount = 2_000
/** How long streams stay open before memory is read. */
const openMillis = 5_000
/** How many requests are sent before memory is read first: code is compiled by then, and the heap has its size. */
const warmUpRequests = 4_000
const openedAtOnce = 50

const requestCount = 200_000
const samples = 200
/** The share of the requests after which growth is looked for. */
const settledShare = 0.2

/** Opens a stream, and gives its answer when its first event is here. */
const opened = async (server: BenchServer, agent: Agent): Promise<IncomingMessage> => {
  const { body, path } = chat({
    model: "gpt-4o-mini",
    stream: true,
    messages: [{ role: "user", content: slowStreamText }]
  })
  const headers = { "content-type": "application/json", ...server.headers }
  const answer = await drive(server.url + path, { method: "POST", agent, headers, body, isRepeatable: true })
  if (answer.statusCode !== 200) throw new Error(`A slow stream was answered with ${answer.statusCode}`)
  // The end of the bench ends the streams, which is no fault.
  answer.on("error", () => undefined)
  await new Promise((resolve) => answer.once("data", resolve))
  return answer.on("data", () => undefined)
}

const streamsOf = async (bench: Bench, count: number) => {
  const gateway = await bench.startGateway("slow streams", { DATABASE_URL: bench.database })
  const agent = new Agent({ keepAlive: true })
  await bench.load.requests(gateway, always(plainCall), warmUpRequests, () => undefined)
  // The first streams compile what streams need.
  const first = await Promise.all(Array.from({ length: openedAtOnce }, () => opened(gateway, agent)))
  for (const answer of first) answer.destroy()
  await pause(1_000)
  const before = residentBytesOf(gateway.pid)
  const answers: Array<IncomingMessage> = []
  for (let left = count; left > 0; left -= openedAtOnce) {
    const some = Array.from({ length: Math.min(left, openedAtOnce) }, () => opened(gateway, agent))
    answers.push(...(await Promise.all(some)))
  }
  const [cpu, startedAt] = [cpuOf(gateway), performance.now()]
  await pause(openMillis)
  const seconds = (performance.now() - startedAt) / 1_000
  const open = answers.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length
  const measured = {
    kilobytes: (residentBytesOf(gateway.pid) - before) / 1_000 / open,
    cpuMicros: ((cpuOf(gateway) - cpu) * 1e6) / seconds / open,
    open
  }
  for (const answer of answers) answer.destroy()
  await gateway.stop()
  return measured
}

const slow: BenchScenario = {
  summary: "open streams with a word a second, and the memory of each",
  count: streamCount,
  run: async (bench, count) => {
    const all: Array<Awaited<ReturnType<typeof streamsOf>>> = []
    // A gateway of its own each time, because memory that a process once had is not given back.
    for (let round = 0; round < bench.rounds; round++) all.push(await streamsOf(bench, count))
    const figure = (name: string, values: ReadonlyArray<number>): Figure => ({ scenario: "slow", figure: name, values })
    return [
      figure(
        "open streams",
        all.map(({ open }) => open)
      ),
      {
        ...figure(
          "resident KB per stream",
          all.map(({ kilobytes }) => kilobytes)
        ),
        goal: { atMost: 100 }
      },
      figure(
        "processor µs per stream and second",
        all.map(({ cpuMicros }) => cpuMicros)
      )
    ]
  }
}

const memory: BenchScenario = {
  summary: "requests in a row, and how resident memory grows over them",
  count: requestCount,
  run: async (bench, count) => {
    const gateway = await bench.startGateway("memory", { DATABASE_URL: bench.database })
    const every = Math.max(1, Math.floor(count / samples))
    const points: Array<readonly [sent: number, megabytes: number]> = []
    const cpu = cpuOf(gateway)
    await bench.load.requests(gateway, always(plainCall), count, (sent) => {
      if (sent % every === 0) points.push([sent, residentBytesOf(gateway.pid) / 1e6])
    })
    const cpuMicros = ((cpuOf(gateway) - cpu) * 1e6) / count
    await gateway.stop()
    const settled = points.filter(([sent]) => sent >= count * settledShare)
    const { noise, slope } = lineThrough(settled)
    const megabytes = settled.map(([, value]) => value)
    const grown = slope * count * (1 - settledShare)
    const figure = (name: string, value: number): Figure => ({ scenario: "memory", figure: name, values: [value] })
    return [
      figure("requests", count),
      figure("processor µs", cpuMicros),
      figure("resident KB per 1,000 requests more", slope * 1e6),
      figure("growth MB along that line", grown),
      figure("noise MB around that line", noise),
      { ...figure("growth / noise", grown / noise), goal: { atMost: 2 } },
      { ...figure("most resident MB", Math.max(...points.map(([, value]) => value))), goal: { atMost: 200 } },
      figure("last resident MB", megabytes.at(-1) ?? Number.NaN)
    ]
  }
}

export const memoryScenarios = { slow, memory } as const
