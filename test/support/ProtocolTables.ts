/**
 * The tables of the README about protocols, made from what the protocols declare, and the table of the test run, made
 * from the names of the tests that passed: `… [gemini: tools, stream]` proves two capabilities of Gemini.
 */
import { writeFileSync } from "node:fs"

import { type ChatProtocolName, chatProtocolNames } from "../../src/catalog/Model.ts"
import type { Protocol } from "../../src/providers/protocols/Protocol.ts"

/** What a client can want of a protocol. A test that names another capability fails the run's own table. */
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

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** Fields down, protocols across, and in each cell what the protocol declares to do with the field. */
export const protocolTable = (protocols: { readonly [Name in ChatProtocolName]: Protocol }): string => {
  const all = chatProtocolNames.map((name) => protocols[name])
  const fields = Object.keys(protocols["openai-chat"].fields) as ReadonlyArray<keyof Protocol["fields"]>
  return [
    row(["field", ...chatProtocolNames.map((name) => `\`${name}\``)]),
    row(["---", ...chatProtocolNames.map(() => "---")]),
    ...fields.map((field) => row([`\`${field}\``, ...all.map((protocol) => protocol.fields[field])])),
    row(["images by URL", ...all.map(({ takesImageUrls }) => (takesImageUrls ? "sent" : "fetched, sent as bytes"))])
  ].join("\n")
}

const [start, end] = ["<!-- protocols:start -->", "<!-- protocols:end -->"]

/** `document` with `table` between its marks. */
export const withTable = (document: string, table: string): string => {
  const [from, to] = [document.indexOf(start), document.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`The document has no ${start} before ${end}`)
  return `${document.slice(0, from + start.length)}\n\n${table}\n\n${document.slice(to)}`
}

/** Writes the document anew when `UPDATE_README` is set, for who has changed a protocol. */
export const mayUpdate = (path: string, text: string): boolean => {
  if (!process.env["UPDATE_README"]) return false
  writeFileSync(path, text)
  return true
}

export interface Proof {
  readonly protocol: ChatProtocolName
  readonly capability: Capability
}

const isOneOf = <A extends string>(all: ReadonlyArray<A>, name: string): name is A => all.some((one) => one === name)

/** What a test proves by its name, whichever database engine it ran on. */
export const proofsIn = (testName: string): ReadonlyArray<Proof> =>
  Array.from(testName.matchAll(/\[([a-z-]+): ([^\]]+)\]/g)).flatMap(([, protocol = "", list = ""]) =>
    list
      .split(", ")
      .flatMap((capability) =>
        isOneOf(chatProtocolNames, protocol) && isOneOf(capabilities, capability) ? [{ protocol, capability }] : []
      )
  )

/** Capabilities down, protocols across, and in each cell how many tests passed that prove it. */
export const proofTable = (passed: ReadonlyArray<string>): string => {
  const proofs = passed.flatMap(proofsIn)
  if (proofs.length === 0) return ""
  const count = (capability: Capability, protocol: ChatProtocolName) =>
    proofs.filter((proof) => proof.capability === capability && proof.protocol === protocol).length
  const wide = Math.max(...capabilities.map(({ length }) => length))
  const lines = capabilities.map((capability) =>
    [
      capability.padEnd(wide),
      ...chatProtocolNames.map((protocol) => String(count(capability, protocol) || "-").padStart(protocol.length))
    ].join("  ")
  )
  return [["".padEnd(wide), ...chatProtocolNames].join("  "), ...lines].join("\n ")
}
