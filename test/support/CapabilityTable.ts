/**
 * The table at the end of a test run: which capability of which protocol the passing tests proved. A test says so by
 * its name, such as `… [gemini: tools, stream]`, which proves two capabilities of Gemini.
 */
import { type ChatProtocolName, chatProtocolNames } from "../../src/catalog/Model.ts"

/** What clients expect of a protocol. A test name that claims any other capability fails `CapabilityTable.test.ts`. */
export const capabilities = [
  "text",
  "stream",
  "tools",
  "parallel tools",
  "forced tool choice",
  "reasoning round trip",
  "image URL",
  "image bytes",
  "audio",
  "json_object",
  "json_schema",
  "stop",
  "cache",
  "errors"
] as const
export type Capability = (typeof capabilities)[number]

export interface Proof {
  readonly protocol: ChatProtocolName
  readonly capability: Capability
}

const isOneOf = <A extends string>(all: ReadonlyArray<A>, name: string): name is A => all.some((one) => one === name)

/** The capabilities that a test proves, by its full name. */
export const proofsIn = (testName: string): ReadonlyArray<Proof> =>
  Array.from(testName.matchAll(/\[([a-z-]+): ([^\]]+)\]/g)).flatMap(([, protocol = "", list = ""]) =>
    list
      .split(", ")
      .flatMap((capability) =>
        isOneOf(chatProtocolNames, protocol) && isOneOf(capabilities, capability) ? [{ protocol, capability }] : []
      )
  )

/** One row for each capability, one column for each protocol: the number of passed tests that prove it. */
export const proofTable = (passed: ReadonlyArray<string>): string => {
  const proofs = passed.flatMap(proofsIn)
  if (proofs.length === 0) return ""
  const count = (capability: Capability, protocol: ChatProtocolName) =>
    proofs.filter((proof) => proof.capability === capability && proof.protocol === protocol).length
  const width = Math.max(...capabilities.map(({ length }) => length))
  const lines = capabilities.map((capability) =>
    [
      capability.padEnd(width),
      ...chatProtocolNames.map((protocol) => String(count(capability, protocol) || "-").padStart(protocol.length))
    ].join("  ")
  )
  return [["".padEnd(width), ...chatProtocolNames].join("  "), ...lines].join("\n ")
}
