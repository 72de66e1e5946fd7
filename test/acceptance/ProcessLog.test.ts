/** What a process writes to its standard output from its start to its exit, as the tools that collect it see it. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

import { user } from "../support/Chat.ts"
import { GatewayProcess } from "../support/GatewayProcess.ts"
import { type LogLine, parseLogLine } from "../support/LogLines.ts"
import * as PostgresServer from "../support/PostgresServer.ts"
import { dataDirectory } from "../support/TestDatabase.ts"

const key = "tg-process-log-key"
/** Keys that are not given are generated and printed, which is the only output that is no line of the log. */
const keys = { BOOTSTRAP_API_KEY: key, ADMIN_API_KEY: "tg-process-log-admin-key-of-an-operator" }

/** For a machine that is busy: each test starts one or two processes. */
const limits = { timeout: 240_000 }

/** A gateway that listens. */
const started = Effect.fnUntraced(function* (environment: { readonly [variable: string]: string } = {}) {
  const directory = yield* dataDirectory
  const port = yield* Effect.promise(PostgresServer.freePort)
  const gateway = yield* Effect.acquireRelease(
    Effect.sync(() => new GatewayProcess(port, { DATA_DIR: directory, ...keys, ...environment })),
    (running) => Effect.promise(() => running.kill())
  )
  assert.isTrue(yield* Effect.promise(() => gateway.ready), gateway.output.join(""))
  return gateway
})

const chat = ({ url }: GatewayProcess, text: string, body: object = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [user(text)], ...body })
  })

/** All that it has written. Every line has to be JSON. */
const linesIn = ({ output }: GatewayProcess): ReadonlyArray<LogLine> =>
  output.join("").split("\n").filter(Boolean).map(parseLogLine)

/** Resolves when it has written this text. */
const writes = ({ child, output }: GatewayProcess, text: string): Promise<void> =>
  new Promise((resolve) => {
    const look = () => output.join("").includes(text) && resolve()
    child.stdout?.on("data", look)
    look()
  })

/** Terminates it, and gives all that it has written. */
const terminated = Effect.fnUntraced(function* (gateway: GatewayProcess) {
  assert.strictEqual(yield* Effect.promise(() => gateway.terminate()), 0)
  yield* Effect.promise(() => gateway.closed)
  return linesIn(gateway)
})

/** Sends a request, and waits until it has been logged. */
const loggedRequest = (gateway: GatewayProcess) =>
  Effect.promise(async () => {
    await (await chat(gateway, "Hello")).text()
    await writes(gateway, '"message":"Request"')
  })

const messagesOf = (lines: ReadonlyArray<LogLine>) => lines.map(({ message }) => String(message))

it.live(
  "A process logs its start, its drain with the signal and the open requests, and its exit",
  () =>
    Effect.gen(function* () {
      const gateway = yield* started({ SHUTDOWN_TIMEOUT: "1 second" })
      yield* loggedRequest(gateway)
      const stream = yield* Effect.promise(() =>
        chat(gateway, "[fault:slow 100ms] [fault:length 1000]", { stream: true })
      )
      const reading = stream.text()
      const lines = yield* terminated(gateway)
      yield* Effect.promise(() => reading)
      const [start] = lines
      assert.match(String(start?.message), /^Tollgate listens on http:\/\/127\.0\.0\.1:\d+; /)
      const { address, catalogVersion, models, providers, version, ...facts } = start?.annotations ?? {}
      assert.strictEqual(address, gateway.url)
      assert.deepStrictEqual(facts, { engine: "embedded", sandbox: true })
      assert.isAbove(Number(models), 10)
      assert.isArray(providers)
      for (const text of [catalogVersion, version]) assert.isString(text)
      const order = ["Tollgate is stopping", "Request", "All requests have ended", "Tollgate has stopped"]
      assert.deepStrictEqual(messagesOf(lines).slice(-4), order)
      const [stopping, cut, ended, stopped] = lines.slice(-4)
      assert.deepStrictEqual(stopping?.annotations, { signal: "SIGTERM", openRequests: 1, limitMillis: 1_000 })
      assert.deepInclude(cut?.annotations, { outcome: "failed", error: "broken", status: 200, costPicodollars: 0 })
      assert.deepInclude(ended?.annotations, { openRequests: 0 })
      assert.deepStrictEqual(stopped?.annotations, { exitCode: 0 })
    }),
  limits
)

it.live(
  "A process that cannot start says so in its one line, with its exit code",
  () =>
    Effect.gen(function* () {
      const first = yield* started()
      const port = Number(new URL(first.url).port)
      const second = new GatewayProcess(port, {})
      assert.strictEqual(yield* Effect.promise(() => second.ended), 1)
      yield* Effect.promise(() => second.closed)
      const [line, ...others] = linesIn(second)
      assert.lengthOf(others, 0)
      assert.match(String(line?.message), /^Tollgate cannot start: PORT: /)
      assert.deepStrictEqual(line?.annotations, { exitCode: 1 })
      assert.strictEqual(line?.level, "FATAL")
    }),
  limits
)

/** A collector that answers every post with this status, or not at all. */
const collector = (status: number | undefined) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<Server>((resolve) => {
          const server = createServer((_, response) => void (status && response.writeHead(status).end()))
          server.listen(0, "127.0.0.1", () => resolve(server))
        })
    ),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const lost = "The OTLP collector takes no telemetry; it is lost until it does"

it.live(
  "A process with a collector that is down names it once, and its output stays JSON",
  () =>
    Effect.gen(function* () {
      const gateway = yield* started({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" })
      yield* Effect.promise(() => writes(gateway, lost))
      yield* loggedRequest(gateway)
      const lines = yield* terminated(gateway)
      const named = lines.filter(({ message }) => message === lost)
      assert.lengthOf(named, 1)
      assert.deepInclude(named[0]?.annotations, { cause: "ECONNREFUSED" })
      assert.include(messagesOf(lines), "Request")
    }),
  limits
)

it.live(
  "A process with a collector that takes everything does not speak of it",
  () =>
    Effect.gen(function* () {
      const gateway = yield* started({ OTEL_EXPORTER_OTLP_ENDPOINT: yield* collector(200) })
      yield* loggedRequest(gateway)
      const messages = messagesOf(yield* terminated(gateway))
      assert.notInclude(messages, lost)
      assert.include(messages, "Request")
    }),
  limits
)
