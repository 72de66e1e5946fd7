import { assert, describe, it } from "@effect/vitest"

import { chatProtocolNames } from "../../../src/catalog/Model.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import {
  capabilities,
  mayUpdate,
  proofsIn,
  proofTable,
  protocolTable,
  withTable
} from "../../support/ProtocolTables.ts"
import { filesUnder, readText } from "../../support/SourceTree.ts"

describe("the tables about protocols", () => {
  it("are in the documentation as the protocols declare them (UPDATE_README=1 writes them)", () => {
    const readme = readText("docs/protocols.md") ?? ""
    const wanted = withTable(readme, protocolTable(protocols))
    if (mayUpdate("docs/protocols.md", wanted)) return
    assert.strictEqual(readme, wanted)
  })

  it("replace what is between the marks, and nothing else", () => {
    const document = "a\n<!-- protocols:start -->\nold\n<!-- protocols:end -->\nb"
    assert.strictEqual(withTable(document, "new"), "a\n<!-- protocols:start -->\n\nnew\n\n<!-- protocols:end -->\nb")
    assert.throws(() => withTable("no marks", "new"))
  })

  it("count what tests prove by their names", () => {
    assert.deepStrictEqual(proofsIn("a > b [embedded] > c [gemini: text, stop] [openai-chat: text, magic]"), [
      { protocol: "gemini", capability: "text" },
      { protocol: "gemini", capability: "stop" },
      { protocol: "openai-chat", capability: "text" }
    ])
    assert.strictEqual(proofTable(["a"]), "")
    assert.match(proofTable(["a [gemini: stop]", "b [gemini: stop]"]), /\n stop .* 2 /)
  })

  it("know every capability that a test claims to prove", () => {
    const claimed = filesUnder("test")
      .filter((path) => path.endsWith(".test.ts") && !path.endsWith("ProtocolTables.test.ts"))
      .flatMap((path) => Array.from((readText(path) ?? "").matchAll(/\[(\$\{\w+\}|[a-z]+-?[a-z]*): ([^\]`]+)\]/g)))
      .filter(([, protocol = ""]) => protocol.startsWith("$") || chatProtocolNames.some((name) => name === protocol))
      .flatMap(([, , list = ""]) => list.split(", "))
    assert.isAbove(claimed.length, capabilities.length)
    for (const capability of claimed) assert.include([...capabilities], capability)
    for (const capability of capabilities) assert.include(claimed, capability)
  })
})
