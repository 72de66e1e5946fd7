import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"

import type { ChatProtocolName } from "../../../../../src/catalog/Model.ts"
import type { Failure } from "../../../../../src/domain/Failure.ts"
import { protocols } from "../../../../../src/providers/protocols/Protocols.ts"
import { failureTag } from "../../wire.ts"

/** An error as a provider sends it, and the class that it must get. */
interface CatalogueEntry {
  readonly provider: string
  readonly status: number
  /** The kind of a transient failure, the tag of any other, or `Missing` for a model that is not there. */
  readonly class: string
  /** The wait that it asks for, in milliseconds. */
  readonly waitMillis?: number
  readonly headers?: { readonly [name: string]: string }
  /** JSON, or the text of a body that is none. */
  readonly body: unknown
}

/**
 * One entry a line. Most bodies are quoted in documentation, public issue trackers or recordings, here without their
 * ids; some are composed from a documented code or text.
 */
const catalogue: ReadonlyArray<CatalogueEntry> = readFileSync(new URL("provider-errors.jsonl", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line))

/** The protocols of providers that do not speak chat completions. */
const otherProtocols: { readonly [provider: string]: ChatProtocolName } = {
  anthropic: "anthropic-messages",
  gemini: "gemini",
  bedrock: "bedrock-converse"
}

const failureOf = ({ body, headers = {}, provider, status }: CatalogueEntry): Failure =>
  protocols[otherProtocols[provider] ?? "openai-chat"].failure({
    status,
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body)
  })

const classOf = (failure: Failure): string =>
  failure.reason._tag === "Unsupported" && failure.reason.isModelMissing === true ? "Missing" : failureTag(failure)

describe("the errors of providers", () => {
  it("are at least 200, of all of them", () => {
    assert.isAtLeast(catalogue.length, 200)
    assert.isAtLeast(new Set(catalogue.map(({ provider }) => provider)).size, 20)
  })

  for (const [index, entry] of catalogue.entries())
    it(`${index + 1}: ${entry.provider} ${entry.status} is ${entry.class}`, () => {
      const failure = failureOf(entry)
      assert.strictEqual(classOf(failure), entry.class, failure.message)
      const wait = failure.reason._tag === "Transient" ? failure.reason.retryAfter : undefined
      assert.strictEqual(wait && Duration.toMillis(wait), entry.waitMillis)
    })
})
