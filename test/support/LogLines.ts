/** The lines of a gateway's log as objects. */
import { Effect } from "effect"

import { eventually } from "./Chat.ts"
import { TestGateway } from "./TestGateway.ts"

export interface LogLine {
  readonly message: unknown
  readonly level: string
  readonly annotations: { readonly [name: string]: unknown }
}

/** A line as the gateway writes it. Throws when it is not an object in JSON. */
export const parseLogLine = (line: string): LogLine => {
  const parsed: unknown = JSON.parse(line)
  if (typeof parsed !== "object" || parsed === null || !("message" in parsed)) throw new Error(`not a line: ${line}`)
  // Every line of the log has these members.
  return parsed as LogLine
}

/** The lines that the gateway has logged so far with this message. */
export const linesOf = (message: string) =>
  Effect.gen(function* () {
    const gateway = yield* TestGateway
    return (yield* gateway.logs).map(parseLogLine).filter((line) => line.message === message)
  })

/** The line with this message of one request, once it is logged. */
export const lineOf = (message: string, request: unknown) =>
  eventually(
    Effect.map(linesOf(message), (lines) => lines.find(({ annotations }) => annotations["request"] === request)),
    `the line "${message}" of the request`
  )
