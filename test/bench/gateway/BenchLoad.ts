/** The load of the bench: requests by callers that wait for their answers, or at a steady rate. */
import { Agent } from "node:http"
import { finished } from "node:stream/promises"
import { setTimeout as pause } from "node:timers/promises"

import { drive } from "../../support/HttpDriver.ts"
import { cpuSecondsOf, processTreeOf } from "./ProcessFigures.ts"

/** A gateway, the bare proxy, or a peer. */
export interface BenchServer {
  readonly name: string
  readonly url: string
  /** The process that answers, or the one that has started it. */
  readonly pid: number | undefined
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
}

export interface BenchCall {
  readonly path: string
  readonly body: string | Uint8Array
  /** Default: JSON and the headers of the server. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The next request of a scenario. */
export type NextCall = () => BenchCall

export interface Pace {
  readonly warmUpMillis: number
  readonly roundMillis: number
  readonly callers: number
}

export interface Throughput {
  readonly perSecond: number
  /** Microseconds of the server's processor time per answered request. */
  readonly cpuMicros: number
}

export interface Latency {
  readonly p50: number
  readonly p99: number
  readonly firstP50: number
  readonly cpuMicros: number
}

interface Timing {
  /** Milliseconds until the first byte of the body, and until its last. */
  readonly first: number
  readonly whole: number
}

/** The bench fails when more than this share of the requests to a server was lost. */
const lostShareMax = 0.01

export const cpuOf = ({ pid }: BenchServer): number =>
  processTreeOf(pid).reduce((sum, process) => sum + cpuSecondsOf(process), 0)

const quantileOf = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

class Faults {
  sent = 0
  readonly lost = new Map<string, number>()
  readonly sentAgain = new Map<string, number>()

  get lostCount(): number {
    return [...this.lost.values()].reduce((sum, times) => sum + times, 0)
  }
}

const count = (map: Map<string, number>, error: unknown): void => {
  const message = error instanceof Error ? error.message : String(error)
  map.set(message, (map.get(message) ?? 0) + 1)
}

export class BenchLoad {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1_024 })
  private readonly faults = new Map<string, Faults>()
  readonly pace: Pace

  constructor(pace: Pace) {
    this.pace = pace
  }

  /**
   * Sends one request; `undefined` for one that was lost. What was charged is of no interest here, so a request may be
   * sent again although it may have arrived.
   */
  async timed(server: BenchServer, { body, headers, path }: BenchCall): Promise<Timing | undefined> {
    const faults = this.faultsOf(server)
    faults.sent++
    try {
      const startedAt = performance.now()
      const answer = await drive(server.url + path, {
        method: "POST",
        agent: this.agent,
        headers: {
          "content-type": "application/json",
          ...server.headers,
          "content-length": String(Buffer.byteLength(body)),
          ...headers
        },
        body,
        isRepeatable: true,
        onRetry: (reason) => count(faults.sentAgain, reason)
      })
      let first = 0
      answer.once("data", () => {
        first = performance.now() - startedAt
      })
      await finished(answer.resume())
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
      return { first, whole: performance.now() - startedAt }
    } catch (error) {
      return void count(faults.lost, error)
    }
  }

  /** The status with which a server answers, or 0 where it does not; counted nowhere. */
  async status(server: BenchServer, { body, headers, path }: BenchCall): Promise<number> {
    try {
      const answer = await drive(server.url + path, {
        method: "POST",
        agent: this.agent,
        headers: { "content-type": "application/json", ...server.headers, ...headers },
        body,
        isRepeatable: true
      })
      await finished(answer.resume())
      return answer.statusCode ?? 0
    } catch {
      return 0
    }
  }

  /** The throughput under callers that send their next request as soon as they are answered. */
  async throughput(server: BenchServer, next: NextCall, pace: Partial<Pace> = {}): Promise<Throughput> {
    const { callers, roundMillis, warmUpMillis } = { ...this.pace, ...pace }
    let [answers, continues] = [0, true]
    const caller = async (): Promise<void> => {
      while (continues) if ((await this.timed(server, next())) !== undefined) answers++
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
  async steady(server: BenchServer, next: NextCall, perSecond: number): Promise<Latency> {
    const sending: Array<Promise<Timing | undefined>> = []
    const [cpu, startedAt] = [cpuOf(server), performance.now()]
    for (let sent = 0; sent * 1_000 < perSecond * this.pace.roundMillis; sent++) {
      await pause(Math.max(0, startedAt + (sent * 1_000) / perSecond - performance.now()))
      sending.push(this.timed(server, next()))
    }
    const timings = (await Promise.all(sending)).filter((timing) => timing !== undefined)
    const whole = timings.map((timing) => timing.whole)
    return {
      p50: quantileOf(whole, 0.5),
      p99: quantileOf(whole, 0.99),
      firstP50: quantileOf(
        timings.map((timing) => timing.first),
        0.5
      ),
      cpuMicros: ((cpuOf(server) - cpu) * 1e6) / timings.length
    }
  }

  /** Sends a number of requests, and calls `each` after every one with how many have been sent. */
  async requests(server: BenchServer, next: NextCall, total: number, each: (sent: number) => void): Promise<void> {
    let [begun, done] = [0, 0]
    const caller = async (): Promise<void> => {
      while (begun++ < total) {
        await this.timed(server, next())
        each(++done)
      }
    }
    await Promise.all(Array.from({ length: this.pace.callers }, caller))
  }

  /** What was lost or sent again, by server. False if too much was lost for the figures to prove anything. */
  report(): boolean {
    for (const [server, { lost, sent, sentAgain }] of this.faults)
      console.log({ server, requests: sent, lost: Object.fromEntries(lost), again: Object.fromEntries(sentAgain) })
    const failing = [...this.faults].filter(([, { lostCount, sent }]) => lostCount > sent * lostShareMax)
    for (const [server, { lostCount, sent }] of failing)
      console.error(`${server}: ${lostCount} of ${sent} requests were lost, so its figures prove nothing.`)
    return failing.length === 0
  }

  private faultsOf({ name }: BenchServer): Faults {
    const faults = this.faults.get(name) ?? new Faults()
    this.faults.set(name, faults)
    return faults
  }
}
