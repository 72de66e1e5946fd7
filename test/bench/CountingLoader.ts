/**
 * Loaded into a gateway before its own code (`node --import`): counts what a request costs inside Effect. It changes
 * the text of modules while they load, so that neither `node_modules` nor the product carries a counter. Effect's run
 * loop counts operations, fibers and suspensions; marks at the places of `marks` divide a request into stages, together
 * with the diagnostics channels of Node's HTTP server and of the HTTP client. The fiber that stores receipts is left
 * out, with those that it starts.
 *
 * A place that is not found ends the process: otherwise a stage would silently be counted with the one before it.
 */
import { subscribe } from "node:diagnostics_channel"
import { registerHooks } from "node:module"
import process from "node:process"

/** What was counted from one mark to the next. */
export interface StageCount {
  readonly stage: string
  operations: number
  fibers: number
  suspensions: number
}

class Counters {
  operations = 0
  fibers = 0
  suspensions = 0
  private stages: Array<StageCount> = []
  private since = { operations: 0, fibers: 0, suspensions: 0 }

  /** Ends the current stage and begins another. */
  mark(stage: string): void {
    this.endStage()
    this.stages.push({ stage, operations: 0, fibers: 0, suspensions: 0 })
  }

  /** The stages since the last call, in their order; one that occurred again is there again. */
  take(): ReadonlyArray<StageCount> {
    this.endStage()
    const taken = this.stages
    this.stages = []
    return taken
  }

  private endStage(): void {
    const { fibers, operations, suspensions } = this
    const last = this.stages.at(-1)
    if (last !== undefined) {
      last.operations = operations - this.since.operations
      last.fibers = fibers - this.since.fibers
      last.suspensions = suspensions - this.since.suspensions
    }
    this.since = { fibers, operations, suspensions }
  }
}

const name = "tollgateOperationCounters"
const counters = new Counters()
Reflect.set(globalThis, name, counters)

/** A text that occurs once in a module, and what is inserted before it. */
interface Insertion {
  readonly module: string
  readonly before: string
  readonly inserted: string
}

const count = (what: "operations" | "fibers" | "suspensions", before: string): Insertion => ({
  module: "/node_modules/effect/dist/internal/effect.js",
  before,
  inserted: `if (this.leftOut !== true) globalThis.${name}.${what}++;`
})

const currentFiber = `globalThis["~effect/Fiber/currentFiber"]`

const mark = (stage: string, module: string, before: string): Insertion => ({
  module: `/src/${module}`,
  before,
  inserted: `globalThis.${name}.mark(${JSON.stringify(stage)});`
})

/** The same before an expression. */
const markOf = (stage: string, module: string, before: string): Insertion => ({
  module: `/src/${module}`,
  before,
  inserted: `globalThis.${name}.mark(${JSON.stringify(stage)}) ?? `
})

const insertions: ReadonlyArray<Insertion> = [
  {
    module: "/node_modules/effect/dist/internal/effect.js",
    before: "this.setContext(context);\n    this.id",
    inserted: `this.leftOut = ${currentFiber}?.leftOut === true;`
  },
  // The batches of the request log come every tenth of a second, so that how many requests meet one depends on time.
  {
    module: "/src/receipts/RequestLog.ts",
    before: "Queue.sizeUnsafe(queue) >= maxBatch",
    inserted: `(${currentFiber}.leftOut = true) && `
  },
  count("operations", "this.currentOpCount++;"),
  count("fibers", "this.id = ++fiberIdStore.id;"),
  count("suspensions", "this._asyncContext = captureAsyncContext();"),
  mark("router, key, rate limit", "http/edge/Edge.ts", "const preflight = crossOrigin?.preflight("),
  mark("body read", "http/completion/CompletionHandler.ts", "const { organization } = caller"),
  mark("body decoded", "http/completion/CompletionHandler.ts", "const decoded = read(body, request)"),
  markOf("receipt opened", "gateway/CompleteChat.ts", "withReceipt(requestFacts(call)"),
  mark("targets chosen", "gateway/CompleteChat.ts", "const choice = yield* candidates.choose("),
  mark("credit held", "gateway/CompleteChat.ts", "const hold = yield* takeHold("),
  mark("failover, breaker, wire request", "gateway/CompleteChat.ts", "receipt.recordHold(hold.amount)"),
  mark("answer recorded and metered", "gateway/CompleteChat.ts", "receipt.recordAnswer(answered,"),
  mark("settled", "gateway/Settlement.ts", "const charged = chargeRequest("),
  markOf("answer encoded and sent", "gateway/Settlement.ts", "({ ...end, ...usage })")
]

const found = new Set<Insertion>()

registerHooks({
  load: (url, context, nextLoad) => {
    const wanted = insertions.filter(({ module }) => url.endsWith(module))
    const loaded = nextLoad(url, context)
    if (wanted.length === 0) return loaded
    let source = String(loaded.source)
    for (const insertion of wanted) {
      const parts = source.split(insertion.before)
      if (parts.length !== 2) {
        process.stderr.write(`${url} has ${parts.length - 1} times: ${insertion.before}\n`)
        process.exit(1)
      }
      source = parts.join(insertion.inserted + insertion.before)
      found.add(insertion)
    }
    return { ...loaded, source, shortCircuit: true }
  }
})

subscribe("http.server.request.start", () => counters.mark("request arrived"))
subscribe("undici:request:create", () => counters.mark("provider waited for"))
subscribe("undici:request:headers", () => counters.mark("provider's headers"))
subscribe("undici:request:bodyChunkReceived", () => counters.mark("provider's bytes"))
subscribe("undici:request:trailers", () => counters.mark("provider's end"))

/** What is left to do after the answer has been sent is done within a few turns of the event loop. */
const turnsUntilIdle = 10

process.on("message", () => {
  const answer = (turns: number): void => {
    if (turns > 0) return void setImmediate(() => answer(turns - 1))
    process.send?.({ isComplete: found.size === insertions.length, stages: counters.take() })
  }
  answer(turnsUntilIdle)
})
