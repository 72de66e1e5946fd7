/**
 * Decodes every answer of the gateway with the schemas that `/openapi.json` is made from. The schema of an answer is
 * looked up in the `HttpApi` definition itself, by method, path, status and content type. A member that the schema does
 * not declare is an error, so the document cannot lag behind the handlers.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { type Duration, Effect, Exit, Layer, Schema } from "effect"
import { HttpApi } from "effect/http-api"

import { documentPaths } from "../../src/api/Api.ts"
import { errorTable } from "../../src/api/ErrorTable.ts"
import { MessageError } from "../../src/api/Message.ts"
import { WholeApi } from "../../src/api/WholeApi.ts"
import { connectionBacklog, nodeServer } from "../../src/http/edge/NodeServer.ts"

/** An answer as it was sent over HTTP. */
export interface SentAnswer {
  readonly method: string
  /** May have a query. */
  readonly path: string
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** False when the client left before the end of the body. */
  readonly isComplete: boolean
}

/** What is wrong with a value; `undefined` when it decodes. */
type Check = (value: unknown) => string | undefined

interface DeclaredEndpoint {
  readonly method: string
  readonly pattern: RegExp
  readonly byStatus: ReadonlyMap<number, Check>
  /** The events of a streamed answer. */
  readonly events: Check | undefined
}

const checkOf = (schemas: ReadonlyArray<Schema.Top>): Check => {
  // No schema of the API needs a service to decode.
  const union = Schema.Union(schemas) as Schema.Union<ReadonlyArray<Schema.Codec<unknown>>>
  const decode = Schema.decodeUnknownExit(union, { onExcessProperty: "error" })
  return (value) => {
    const decoded = decode(value)
    return Exit.isSuccess(decoded) ? undefined : String(decoded.cause)
  }
}

const declared: ReadonlyArray<DeclaredEndpoint> = (() => {
  const endpoints: Array<DeclaredEndpoint> = []
  HttpApi.reflect(WholeApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, successes }) => {
      const events = [...endpoint.success].flatMap((schema) =>
        "events" in schema && Schema.isSchema(schema.events) ? [schema.events] : []
      )
      endpoints.push({
        method: endpoint.method,
        pattern: new RegExp(`^${endpoint.path.replaceAll(/:[^/]+/g, "[^/]+")}$`),
        byStatus: new Map([...successes, ...errors].map(([status, schemas]) => [status, checkOf(schemas)])),
        events: events.length === 0 ? undefined : checkOf(events)
      })
    }
  })
  return endpoints
})()

/** The error bodies of a status, for whatever happens beside the declared routes. */
const errorsOf = (status: number): Check => {
  const codes = Object.entries(errorTable).flatMap(([code, known]) => (known === status ? [code] : []))
  return checkOf([Schema.Struct({ error: Schema.Struct({ code: Schema.Literals(codes), message: Schema.String }) })])
}

const messageError = checkOf([MessageError])

/** Errors have the shape of Anthropic on the routes of its API, whatever the definition declares for their status. */
const messageErrorFault = (path: string, status: number, value: object): string | undefined => {
  const isRoute = /^\/v1\/messages(\/|$)/.test(path)
  const isModels = /^\/v1\/models(\/|$)/.test(path) && "request_id" in value
  if (status < 400 || (!isRoute && !isModels)) return undefined
  const code = "error" in value ? Reflect.get(Object(value.error), "code") : undefined
  return messageError(value) ?? (Reflect.get(errorTable, String(code)) === status ? "" : `${code} is not for ${status}`)
}

/** The member of the service's own name under the name by which the schemas declare it. */
const withDeclaredName = (json: unknown, serviceName: string): unknown => {
  if (serviceName === "svc" || typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map((element) => withDeclaredName(element, serviceName))
  const names = new Map([
    [serviceName, "svc"],
    ["svc", `svc instead of ${serviceName}`]
  ])
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [names.get(name) ?? name, withDeclaredName(value, serviceName)])
  )
}

/** The object or array in a text, with the declared name of the service; `undefined` for any other text. */
const parseJson = (text: string, serviceName: string): object | undefined => {
  try {
    const json: unknown = withDeclaredName(JSON.parse(text), serviceName)
    return typeof json === "object" && json !== null ? json : undefined
  } catch {
    return undefined
  }
}

/** The last event of a stream whose events have names. */
const lastEvent = /^event: (?:response\.(?:completed|incomplete|failed)|message_stop|error)\n/

const isEnd = (frame: string): boolean => frame === "data: [DONE]" || frame.startsWith("event: error\n")

/** What is wrong with the frames of a stream, of which a client that left has not seen the end. */
const streamFault = ({ body, isComplete }: SentAnswer, events: Check, serviceName: string): string | undefined => {
  const frames = body.split("\n\n")
  const rest = frames.pop()
  const last = frames.at(-1) ?? ""
  const hasEnd = frames.some((frame) => /^event: (?:response\.|message_)/.test(frame))
    ? lastEvent.test(last)
    : isEnd(last)
  if (isComplete && (rest !== "" || !hasEnd)) return "the stream does not end with [DONE] or with its last event"
  for (const frame of frames) {
    if (frame.startsWith(":") || frame === "data: [DONE]") continue
    const [, name, data] = /^(?:event: (.*)\n)?data: (.*)$/.exec(frame) ?? []
    if (data === undefined) return `neither data nor a comment: ${frame}`
    const chunk = parseJson(data, serviceName)
    if (name !== undefined && chunk !== undefined && Reflect.get(chunk, "type") !== name) return `misnamed: ${frame}`
    const fault = events({ event: "message", data: JSON.stringify(chunk) })
    if (fault !== undefined) return `${fault}\n${frame}`
  }
  return undefined
}

/** What in an answer contradicts the API's definition; `undefined` when it decodes. */
export const contractFault = (answer: SentAnswer, serviceName = "svc"): string | undefined => {
  const { body, contentType, isComplete, method, status } = answer
  const path = answer.path.split("?")[0] ?? ""
  const isDocument = Object.values<string>(documentPaths).includes(path) && (status === 200 || status === 304)
  // A preflight of CORS is for the browser: it has headers and no body.
  const isPreflight = method === "OPTIONS" && status === 204 && /^\/+v1\//i.test(path) && body === ""
  if (method === "HEAD" || isDocument || isPreflight) return undefined
  const endpoint = declared.find(({ method: known, pattern }) => known === method && pattern.test(path))
  if (contentType.startsWith("text/event-stream")) {
    return endpoint?.events === undefined
      ? "a stream is not declared"
      : streamFault(answer, endpoint.events, serviceName)
  }
  if (!isComplete) return undefined
  const isJson = contentType.startsWith("application/json")
  // Whether an endpoint answers with text at all is for its check.
  if (!isJson && !/^text\/(plain|csv)\b/.test(contentType)) return `the content type ${contentType} is not declared`
  const check = endpoint === undefined ? errorsOf(status) : endpoint.byStatus.get(status)
  if (check === undefined) return `the status ${status} is not declared`
  const value = isJson ? parseJson(body, serviceName) : body
  const messageFault = typeof value === "object" ? messageErrorFault(path, status, value) : undefined
  const fault = value === undefined ? "the body is not a JSON object" : (messageFault ?? check(value)) || undefined
  return fault === undefined ? undefined : `${fault}\n${body.slice(0, 2_000)}`
}

/** Reports every answer of a server once it has been sent, or once its client has left. */
const reportAnswers = (server: Server, report: (answer: SentAnswer) => void): Server =>
  server.on("request", reportResponse(report)).prependListener("clientError", reportBadRequest(report))

/** Reports the answer to what never became a request; the server writes it to the socket in one piece. */
const reportBadRequest = (report: (answer: SentAnswer) => void) => (_error: Error, socket: Duplex) => {
  const { write } = socket
  const reporting = (...args: ReadonlyArray<unknown>) => {
    const [head = "", body = ""] = String(args[0]).split("\r\n\r\n")
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])
    const contentType = /^content-type: (.*)$/m.exec(head)?.[1] ?? ""
    report({ method: "", path: "", status, contentType, body, isComplete: true })
    return Reflect.apply(write, socket, args)
  }
  Object.assign(socket, { write: reporting })
}

const reportResponse =
  (report: (answer: SentAnswer) => void) => (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Array<Uint8Array> = []
    let contentType = ""
    const { end, write, writeHead } = response
    const keep = (piece: unknown): void => {
      if (typeof piece === "string" || piece instanceof Uint8Array) pieces.push(Buffer.from(piece))
    }
    Object.assign(response, {
      writeHead: (...args: ReadonlyArray<unknown>) => {
        // The platform always passes the headers as the last argument, and never sets them by itself.
        contentType = new Headers(args.at(-1) as HeadersInit).get("content-type") ?? ""
        return Reflect.apply(writeHead, response, args)
      },
      write: (...args: ReadonlyArray<unknown>) => (keep(args[0]), Reflect.apply(write, response, args)),
      end: (...args: ReadonlyArray<unknown>) => (keep(args[0]), Reflect.apply(end, response, args))
    })
    response.once("close", () => {
      const { method = "", url: path = "" } = request
      const body = Buffer.concat(pieces).toString()
      const isComplete = response.writableFinished
      report({ method, path, status: response.statusCode, contentType, body, isComplete })
    })
  }

/** Faults that are kept for the error of a suite. */
const maxFaults = 5

/** A server on a free port. Closing it fails the suite if an answer was sent that the definition does not declare. */
export const checkedServerLayer = (serviceName: string, gracefulShutdownTimeout: Duration.Input = "1 second") =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* nodeServer
      const faults: Array<string> = []
      yield* Effect.addFinalizer(() =>
        faults.length === 0 ? Effect.void : Effect.die(new Error(`answers outside the contract:\n${faults.join("\n")}`))
      )
      const report = (answer: SentAnswer): void => {
        const fault = contractFault(answer, serviceName)
        if (fault !== undefined && faults.length < maxFaults)
          faults.push(`${answer.method} ${answer.path} ${answer.status}: ${fault}`)
      }
      return NodeHttpServer.layer(() => reportAnswers(server, report), {
        host: "127.0.0.1",
        port: 0,
        backlog: connectionBacklog,
        gracefulShutdownTimeout
      })
    })
  )
