import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { Duration, Result } from "effect"

import type { ChatProtocolName } from "../../../../../src/catalog/Model.ts"
import type { Failure } from "../../../../../src/domain/Failure.ts"
import type { ProviderFrame } from "../../../../../src/providers/protocols/Protocol.ts"
import { protocols } from "../../../../../src/providers/protocols/Protocols.ts"
import { callOf, failureTag } from "../../wire.ts"

/** An error as a provider sends it, and the class that it must get. */
interface CatalogueEntry {
  readonly provider: string
  readonly status: number
  /** The kind of a transient failure, the tag of any other, or `Missing` for a model that is not there. */
  readonly class: string
  /**
   * Where the body comes from. `recording`: from recorded traffic. `issue`: quoted in a public issue or pull request.
   * `documentation`: the code and the text stand on a page of the provider's. `quoted`: the text is quoted in public
   * code, and the members around it, and sometimes the status, are those that the provider documents. `composed`:
   * nobody has seen it; the text was written here, in the shape that the provider documents. Ids are left out of all.
   */
  readonly from: "recording" | "issue" | "documentation" | "quoted" | "composed"
  /** The address of the page, or the repository and the file. */
  readonly source?: string
  /** The wait that it asks for, in milliseconds. */
  readonly waitMillis?: number
  readonly headers?: { readonly [name: string]: string }
  /** JSON, or the text of a body that is none. */
  readonly body: unknown
}

/** One entry a line. */
const catalogue: ReadonlyArray<CatalogueEntry> = readFileSync(new URL("provider-errors.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line))

/** The protocols of providers that do not speak chat completions, or others as well. */
const protocolsOf: { readonly [provider: string]: ReadonlyArray<ChatProtocolName> } = {
  anthropic: ["anthropic-messages"],
  gemini: ["gemini"],
  bedrock: ["bedrock-converse"],
  responses: ["openai-responses"],
  minimax: ["anthropic-messages", "openai-chat"]
}

const failureIn = (result: Result.Result<unknown, Failure>): Failure =>
  Result.match(result, { onFailure: (failure) => failure, onSuccess: () => assert.fail("reads as an answer") })

/** The failures that an entry becomes: that of the response, or with status 200 those of an answer and of a stream. */
const failuresOf = ({ body, headers = {}, status }: CatalogueEntry, name: ChatProtocolName): ReadonlyArray<Failure> => {
  const protocol = protocols[name]
  const text = typeof body === "string" ? body : JSON.stringify(body)
  if (status !== 200) return [protocol.failure({ status, headers, body: text })]
  const call = callOf()
  const data = name === "openai-responses" ? JSON.stringify({ type: "response.failed", response: body }) : text
  return [
    failureIn(protocol.decode(body, call)),
    failureIn(protocol.reader(call).step({ event: name === "openai-responses" ? "response.failed" : "", data }))
  ]
}

const classOf = (failure: Failure): string =>
  failure.reason._tag === "Unsupported" && failure.reason.isModelMissing === true ? "Missing" : failureTag(failure)

describe("the errors of providers", () => {
  it("are at least 700, of all of them, and the origin of each is known", () => {
    assert.isAtLeast(catalogue.length, 700)
    assert.isAtLeast(new Set(catalogue.map(({ provider }) => provider)).size, 25)
    assert.isAtLeast(catalogue.filter(({ from }) => from !== "composed").length, 300)
    for (const { from, source } of catalogue)
      if (from === "recording" || from === "issue" || from === "documentation") assert.isString(source)
  })

  for (const [index, entry] of catalogue.entries())
    it(`${index + 1}: ${entry.provider} ${entry.status} is ${entry.class}`, () => {
      for (const protocol of protocolsOf[entry.provider] ?? ["openai-chat" as const])
        for (const failure of failuresOf(entry, protocol)) {
          assert.strictEqual(classOf(failure), entry.class, failure.message)
          const wait = failure.reason._tag === "Transient" ? failure.reason.retryAfter : undefined
          assert.strictEqual(wait && Duration.toMillis(wait), entry.waitMillis)
        }
    })
})

/** Frames that report an error after a success status, in the forms of each protocol. */
const frames: ReadonlyArray<readonly [ChatProtocolName, ProviderFrame["event"], unknown, string]> = [
  ["openai-chat", "", { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } }, "rate_limited"],
  ["openai-chat", "", { error: { message: "The engine crashed", type: "InternalServerError", code: 500 } }, "server"],
  ["openai-chat", "", { error: "STREAM_EXPLODED" }, "server"],
  ["openai-chat", "", { object: "error", message: "At most 1 image(s) may be provided.", code: 400 }, "Unsupported"],
  ["openai-chat", "", { choices: [], error: { message: "Internal", code: 502 } }, "server"],
  ["openai-chat", "", { choices: [{ error: { message: "Overloaded", code: 503 } }] }, "overloaded"],
  ["openai-chat", "", { base_resp: { status_code: 1008, status_msg: "insufficient balance" } }, "Credentials"],
  ["openai-chat", "error", { error: { message: "Tool call failed", code: "tool_use_failed" } }, "broken"],
  ["openai-chat", "error", { message: "The server is overloaded" }, "overloaded"],
  ["openai-responses", "error", { type: "error", code: "rate_limit_exceeded", message: "Slower" }, "rate_limited"],
  ["openai-responses", "error", { type: "error", error: { code: "server_error", message: "Sorry" } }, "server"],
  [
    "openai-responses",
    "error",
    { type: "error", error: { type: "insufficient_quota", code: "insufficient_quota", message: "No money" } },
    "Credentials"
  ],
  ["anthropic-messages", "error", { type: "error", error: { type: "overloaded_error", message: "O" } }, "overloaded"],
  ["anthropic-messages", "error", { type: "error", error: { type: "api_error", message: "Oh" } }, "server"],
  ["anthropic-messages", "error", { type: "error", error: { type: "rate_limit_error" } }, "rate_limited"],
  ["gemini", "", { error: { code: 503, message: "Try later", status: "UNAVAILABLE" } }, "overloaded"],
  ["gemini", "", { error: { code: 429, message: "Exhausted", status: "RESOURCE_EXHAUSTED" } }, "rate_limited"],
  ["bedrock-converse", "throttlingException", { message: "Too many tokens" }, "rate_limited"],
  ["bedrock-converse", "ThrottlingException", { message: "Too many tokens" }, "rate_limited"],
  ["bedrock-converse", "internalServerException", { message: "Sorry" }, "server"],
  ["bedrock-converse", "modelStreamErrorException", { message: "Sorry", originalStatusCode: 424 }, "server"],
  ["bedrock-converse", "modelTimeoutException", { message: "Slow" }, "timeout"],
  ["bedrock-converse", "serviceUnavailableException", { message: "Sorry" }, "overloaded"],
  ["bedrock-converse", "validationException", { message: "Input is too long" }, "ContextTooLong"]
]

it("reads the errors within streams", () => {
  for (const [name, event, data, expected] of frames) {
    const step = protocols[name].reader(callOf()).step({ event, data: JSON.stringify(data) })
    assert.strictEqual(classOf(failureIn(step)), expected, `${name} ${JSON.stringify(data)}`)
  }
})
