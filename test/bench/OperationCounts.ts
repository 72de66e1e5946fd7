/**
 * Counts what requests cost inside Effect: operations of its run loop, fibers, and suspensions, by stage. Requests go
 * one at a time to a warm gateway on the embedded engine, and of several requests the one that took the least counts.
 * So the counts depend neither on how fast or how busy the machine is, nor on what else the gateway does.
 */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text as readAll } from "node:stream/consumers"

import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import { drive } from "../support/HttpDriver.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import type { StageCount } from "./CountingLoader.ts"

/** What one request of a kind costs, in total or in a stage. */
export interface OperationCount {
  readonly operations: number
  readonly fibers: number
  readonly suspensions: number
}

export interface OperationCounts {
  /** By kind of request. */
  readonly totals: { readonly [kind: string]: OperationCount }
  /** By kind of request and stage, in the order of the stages. */
  readonly stages: { readonly [kind: string]: { readonly [stage: string]: OperationCount } }
}

/** The file with the totals that the tests compare with. */
export const recordedCounts = join(import.meta.dirname, "operations.json")

const key = "tg-operations"
const warmUps = 6
const samples = 9
const fewChunks = 10
const manyChunks = 40
/** What a chunk costs is stated for as many of them. */
const chunkUnit = 100

const messages = [
  { role: "system", content: "You are helpful." },
  { role: "user", content: "Tell me a short greeting for a friendly letter to an old friend from school, please." }
]
const auto = { reasoning_effort: "none", messages }
const named = { model: "gpt-4o-mini", messages }

/** A kind of request, as it is sent for the `index`th time. */
interface Kind {
  readonly body: object
  readonly headers?: { readonly [name: string]: string }
  readonly chunks?: number
}

const kinds = {
  plain: { body: named },
  "svc-auto": { body: auto },
  sticky: { body: auto, headers: { "x-session-id": "one" } },
  [`stream of ${fewChunks}`]: { body: { ...named, stream: true }, chunks: fewChunks },
  [`stream of ${manyChunks}`]: { body: { ...named, stream: true }, chunks: manyChunks }
} as const satisfies { readonly [kind: string]: Kind }

/** Lets the provider send the next chunk, once the client has the one before it: so each is a packet of its own. */
class Turns {
  private passed: (() => void) | undefined

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.passed = resolve
    })
  }

  pass(): void {
    this.passed?.()
  }
}

const provider = (turns: Turns, chunks: () => number): Fake.Behaviour => {
  const usage = { prompt_tokens: 30, completion_tokens: 9, total_tokens: 39 }
  const { end, plain, start } = Fake.answerIn("openai-chat", { usage })
  const greeting = "Hello there, how are you today?"
  const answer = Fake.reply(200, JSON.stringify(plain(greeting)))
  // Routing may choose a model of another protocol.
  const inOtherProtocol = Fake.answers(greeting)
  return async (response, received) => {
    if (!received.path.endsWith("/chat/completions")) return inOtherProtocol(response, received)
    if (!received.text.includes('"stream":true')) return answer(response, received)
    response.writeHead(200, { "content-type": "text/event-stream" })
    const chunk = Buffer.from(Fake.openaiChunk({ content: " word" }))
    for (let sent = 0; sent < chunks(); sent++) {
      const next = turns.wait()
      response.write(sent === 0 ? Buffer.concat([...start, chunk]) : chunk)
      await next
    }
    response.end(Buffer.concat(end))
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends one request, reads the whole answer, and gives what the gateway counted. */
const sample = async (gateway: GatewayProcess, kind: Kind, turns: Turns): Promise<ReadonlyArray<StageCount>> => {
  const body = JSON.stringify(kind.body)
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${key}`,
    "content-length": String(Buffer.byteLength(body)),
    ...kind.headers
  }
  const answer = await drive(`${gateway.url}/v1/chat/completions`, { method: "POST", agent, headers, body })
  if (kind.chunks !== undefined) answer.on("data", () => turns.pass())
  const text = await readAll(answer)
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}: ${text}`)
  const counted = once(gateway.child, "message")
  gateway.child.send({})
  const [{ isComplete, stages }] = await counted
  if (isComplete !== true) throw new Error("some marks are in modules that were not loaded")
  return stages
}

const nothing: OperationCount = { operations: 0, fibers: 0, suspensions: 0 }

const plus = (a: OperationCount, b: OperationCount): OperationCount => ({
  operations: a.operations + b.operations,
  fibers: a.fibers + b.fibers,
  suspensions: a.suspensions + b.suspensions
})

/** Stages that occur several times in a request, such as the packets of a stream, are added up. */
const byStage = (stages: ReadonlyArray<StageCount>): Map<string, OperationCount> => {
  const sums = new Map<string, OperationCount>()
  for (const { stage, ...count } of stages) sums.set(stage, plus(sums.get(stage) ?? nothing, count))
  return sums
}

const measured = async (gateway: GatewayProcess, kind: Kind, turns: Turns) => {
  for (let count = 0; count < warmUps; count++) await sample(gateway, kind, turns)
  const requests: Array<ReadonlyArray<StageCount>> = []
  for (let count = 0; count < samples; count++) requests.push(await sample(gateway, kind, turns))
  const totals = requests.map((stages) => stages.reduce<OperationCount>(plus, nothing))
  const least = totals.reduce((found, one, index) => (isLess(one, totals[found] ?? one) ? index : found), 0)
  return { total: totals[least] ?? nothing, stages: Object.fromEntries(byStage(requests[least] ?? [])) }
}

const isLess = (a: OperationCount, b: OperationCount): boolean =>
  a.operations < b.operations || (a.operations === b.operations && a.suspensions < b.suspensions)

const perChunks = (few: OperationCount, many: OperationCount): OperationCount => {
  const slope = (figure: keyof OperationCount) =>
    Math.round(((many[figure] - few[figure]) * chunkUnit) / (manyChunks - fewChunks))
  return { operations: slope("operations"), fibers: slope("fibers"), suspensions: slope("suspensions") }
}

/** Starts a gateway of its own and counts every kind of request. */
export const countOperations = async (): Promise<OperationCounts> => {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-operations-"))
  const turns = new Turns()
  let chunks = 0
  const fake = await Fake.FakeServer.start({ records: false })
  fake.script(provider(turns, () => chunks))
  const gateway = new GatewayProcess(
    await PostgresServer.freePort(),
    {
      DATA_DIR: directory,
      BOOTSTRAP_API_KEY: key,
      BOOTSTRAP_CREDIT_USD: "100000",
      RATE_LIMIT_RPM: "100000000",
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `${fake.url}/v1`
    },
    join(import.meta.dirname, "CountingLoader.ts")
  )
  try {
    if (!(await gateway.ready)) throw new Error(gateway.output.join(""))
    const totals: Record<string, OperationCount> = {}
    const stages: Record<string, OperationCounts["stages"][string]> = {}
    for (const [name, kind] of Object.entries<Kind>(kinds)) {
      chunks = kind.chunks ?? 0
      const counted = await measured(gateway, kind, turns)
      totals[name] = counted.total
      stages[name] = counted.stages
    }
    const [few, many] = [totals[`stream of ${fewChunks}`], totals[`stream of ${manyChunks}`]]
    if (few !== undefined && many !== undefined) totals[`${chunkUnit} chunks more`] = perChunks(few, many)
    return { totals, stages }
  } finally {
    gateway.kill()
    await gateway.closed
    fake.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
