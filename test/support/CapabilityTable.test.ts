import { assert, describe, it } from "@effect/vitest"

import { chatProtocolNames } from "../../src/catalog/Model.ts"
import { capabilities, proofsIn, proofTable } from "./CapabilityTable.ts"
import { filesUnder, readText } from "./SourceTree.ts"

describe("The table of proved capabilities", () => {
  it("counts what tests prove by their names", () => {
    assert.deepStrictEqual(proofsIn("a > b [embedded] > c [gemini: text, stop] [openai-chat: text, magic]"), [
      { protocol: "gemini", capability: "text" },
      { protocol: "gemini", capability: "stop" },
      { protocol: "openai-chat", capability: "text" }
    ])
    assert.strictEqual(proofTable(["a"]), "")
    assert.match(proofTable(["a [gemini: stop]", "b [gemini: stop]"]), /\n stop .* 2 /)
  })

  it("knows every capability that a test claims to prove", () => {
    const claimed = filesUnder("test")
      .filter((path) => path.endsWith(".test.ts") && !path.endsWith("CapabilityTable.test.ts"))
      .flatMap((path) => Array.from((readText(path) ?? "").matchAll(/\[(\$\{\w+\}|[a-z]+-?[a-z]*): ([^\]`]+)\]/g)))
      .filter(([, protocol = ""]) => protocol.startsWith("$") || chatProtocolNames.some((name) => name === protocol))
      .flatMap(([, , list = ""]) => list.split(", "))
    assert.isAbove(claimed.length, capabilities.length)
    for (const capability of claimed) assert.include([...capabilities], capability)
    for (const capability of capabilities) assert.include(claimed, capability)
  })
})
