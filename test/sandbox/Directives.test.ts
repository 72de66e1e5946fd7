import { assert, describe, it } from "@effect/vitest"

import { directives, faultNames, parseDirectives } from "../../src/sandbox/Directives.ts"

describe("parseDirectives", () => {
  const unset = { status: 0, retryAfterSeconds: undefined, millis: 0, tokens: 0, when: "always", model: undefined }
  const table: ReadonlyArray<readonly [string, object]> = [
    ["[fault:429]", { name: "status", status: 429 }],
    ["[fault:429 retry-after=2]", { name: "status", status: 429, retryAfterSeconds: 2 }],
    ["[Fault: 500 once]", { name: "status", status: 500, when: "once" }],
    ["[fault:503 first]", { name: "status", status: 503, when: "first" }],
    ["[fault:500 on=openai/gpt-5-mini]", { name: "status", status: 500, model: "openai/gpt-5-mini" }],
    ["[fault:stall 15s]", { name: "stall", millis: 15_000, tokens: 15 }],
    ["[fault:slow 50ms]", { name: "slow", millis: 50, tokens: 50 }],
    ["[fault:cut after=5]", { name: "cut", tokens: 5 }],
    ["[fault:length 2000]", { name: "length", tokens: 2_000, millis: 600_000 }]
  ]
  for (const [text, fault] of table) {
    it(`reads ${text}`, () => {
      assert.deepStrictEqual<unknown>(parseDirectives(`please ${text} now`).faults, [{ ...unset, ...fault }])
    })
  }

  it("takes several directives out of a message and keeps its other text", () => {
    const { calls, faults, message, text } = parseDirectives(
      "[call:a, b] hello [fault:slow 1ms] [fault:no-such] [1] world"
    )
    assert.isUndefined(text)
    assert.strictEqual(parseDirectives("[fault:500 once] [say: Good morning, all. ] hello").text, "Good morning, all.")
    assert.deepStrictEqual(calls, [{ name: "a" }, { name: "b" }])
    assert.deepStrictEqual(
      faults.map(({ name }) => name),
      ["slow"]
    )
    assert.strictEqual(message, "hello   [1] world")
  })

  it("reads the arguments of a call as they are, and takes nothing else for arguments", () => {
    const command = '{"cmd":"[ -e x ] || echo \\"}\\" > x", "options": {"dir": "/"}}'
    const { calls, message } = parseDirectives(`Run [call:shell ${command}] it [call:shell {"cmd"}] [call:b]`)
    assert.deepStrictEqual(calls, [{ name: "shell", arguments: command }, { name: 'shell {"cmd"}' }, { name: "b" }])
    assert.strictEqual(message, "Run  it")
  })

  it("reads a message that begins any number of calls in no time", () => {
    const text = '[call:a {"'.repeat(100_000)
    assert.deepStrictEqual(parseDirectives(text).calls, [])
  })

  it("has every fault in the documentation", () => {
    const documented = directives.flatMap(({ forms }) =>
      forms.flatMap((form) => parseDirectives(form).faults.map(({ name }) => name))
    )
    assert.deepStrictEqual(
      faultNames.filter((name) => !documented.includes(name)),
      []
    )
  })
})
