/**
 * The style of the project, checked by a program. Every rule is first shown a sample that breaks it and one that keeps
 * it, then the project's own text.
 */
import { assert, describe, it } from "@effect/vitest"

import {
  configuredRegistry,
  pinnedRegistries,
  privatePlaces,
  providerVariables,
  unmatchedVariables,
  unprovedCodes
} from "./support/PublishedText.ts"
import { filesUnder, publishedFiles, readText, sourceFile, type SourceTree } from "./support/SourceTree.ts"
import { limits, rules } from "./support/StyleRules.ts"

const treeOf = (files: Record<string, string>): SourceTree =>
  Object.entries(files).map(([path, text]) => sourceFile(path, text))

const assertNone = (faults: ReadonlyArray<string>): void => assert.strictEqual(faults.join("\n"), "")

/** The place a fault names: `path:line`. */
const placeOf = (fault: string): string => fault.slice(0, fault.indexOf(": "))

const linesOf = (path: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `${path}:${index + 1}`)

const repeat = (count: number, line: string): string => `${line}\n`.repeat(count)

interface Sample {
  readonly breaks: Record<string, string>
  /** The places that must be reported, as `path:line`, in order. */
  readonly at: ReadonlyArray<string>
  readonly keeps: Record<string, string>
}

const samples = {
  arrows: {
    breaks: {
      "src/domain/Money.ts": 'import type { Model } from "../catalog/Model.ts"',
      "src/catalog/Model.ts": '\nexport type { Api } from "../api/Api.ts"',
      "src/ledger/Pricing.ts": 'type A = import("../receipts/Receipt.ts").A',
      "src/gateway/CompleteChat.ts": 'import { Api } from "../api/Api.ts"\nimport { x } from "../sql/Sql.ts"',
      "src/http/Server.ts": 'export * from "../sql/Sql.ts"\nimport { x } from "../providers/transport/Auth.ts"',
      "src/sandbox/Sandbox.ts": 'import { x } from "../providers/dispatch/Target.ts"',
      "src/providers/protocols/gemini/Request.ts":
        'import { x } from "../../dispatch/Target.ts"\nimport { y } from "../openai-chat/Request.ts"',
      "src/providers/protocols/shared/Field.ts": 'import { x } from "../gemini/Request.ts"',
      "src/routing/Router.ts":
        'const x = await import("../main.ts")\nimport y from "../../package.json"\nimport "../../tools/a/A.ts"',
      "src/attic/Old.ts": 'import { x } from "../domain/Money.ts"'
    },
    at: [
      "src/domain/Money.ts:1",
      "src/catalog/Model.ts:2",
      "src/ledger/Pricing.ts:1",
      "src/gateway/CompleteChat.ts:1",
      "src/gateway/CompleteChat.ts:2",
      "src/http/Server.ts:1",
      "src/http/Server.ts:2",
      "src/sandbox/Sandbox.ts:1",
      "src/providers/protocols/gemini/Request.ts:1",
      "src/providers/protocols/gemini/Request.ts:2",
      "src/providers/protocols/shared/Field.ts:1",
      "src/routing/Router.ts:1",
      "src/routing/Router.ts:2",
      "src/routing/Router.ts:3",
      "src/attic/Old.ts:1"
    ],
    keeps: {
      "src/main.ts": 'import { a } from "./sql/Sql.ts"\nimport { b } from "./sandbox/Sandbox.ts"',
      "src/gateway/CompleteChat.ts": 'import { a } from "../api/Errors.ts"\nimport { b } from "../ledger/Pricing.ts"',
      "src/http/Server.ts": 'import { a } from "../providers/dispatch/Dispatch.ts"',
      "src/ledger/Pricing.ts": 'import { a } from "../sql/Sql.ts"\nimport { b } from "./Hold.ts"\nimport "effect"',
      "src/providers/protocols/gemini/Request.ts":
        'import { a } from "../Protocol.ts"\nimport { b } from "../shared/B.ts"',
      "tools/a/A.ts": 'import { a } from "../../src/routing/Router.ts"',
      "test/main.test.ts": 'import { a } from "../src/main.ts"',
      "src/domain/Ids.ts": 'const text = `import { a } from "../main.ts"`'
    }
  },
  holds: {
    breaks: {
      "src/gateway/A.ts": 'import { heldRequestId as held } from "../domain/Ids.ts"\nconst b = Ids.heldRequestId(id)',
      "src/http/B.ts": "const a = id as HeldRequestId\nconst b = id as unknown as Ids.HeldRequestId"
    },
    at: ["src/gateway/A.ts:1", "src/gateway/A.ts:2", "src/http/B.ts:1", "src/http/B.ts:2"],
    keeps: {
      "src/ledger/CreditLedger.ts": "heldRequestId(request)",
      "src/providers/dispatch/Dispatch.ts": "interface Call { readonly held: HeldRequestId }",
      "test/a/A.ts": "heldRequestId(id)"
    }
  },
  cycles: {
    breaks: {
      "src/a/A.ts": 'import { b } from "./B.ts"',
      "src/a/B.ts": 'import "effect"\nexport * from "./C.ts"',
      "src/a/C.ts": 'import { type A } from "./A.ts"',
      "src/a/D.ts": 'import type { E } from "./E.ts"',
      "src/a/E.ts": 'type D = import("./D.ts").D',
      "src/a/Self.ts": 'import { x } from "./Self.ts"'
    },
    at: ["src/a/C.ts:1", "src/a/E.ts:1", "src/a/Self.ts:1"],
    keeps: {
      "src/a/A.ts": 'import { b } from "./B.ts"\nimport { c } from "./C.ts"',
      "src/a/B.ts": 'import { c } from "./C.ts"',
      "src/a/C.ts": 'import { a } from "effect"'
    }
  },
  homonyms: {
    breaks: {
      "src/a/A.ts": "export const read = 1\nexport type Part = 1\nexport function f() {}",
      "src/b/B.ts": 'export const own = 1, read = 2\nexport interface Part {}\nexport { f } from "./F.ts"',
      "src/b/C.ts": "const x = 1\nexport { x as own }",
      "src/providers/protocols/gemini/Request.ts": "export class f {}",
      "tools/a/A.ts": "export const own = 1"
    },
    at: [
      "src/b/B.ts:1",
      "src/b/B.ts:2",
      "src/b/B.ts:3",
      "src/b/C.ts:2",
      "src/providers/protocols/gemini/Request.ts:1",
      "tools/a/A.ts:1"
    ],
    keeps: {
      "src/a/A.ts": "export const Part = 1\nexport type Part = 1\nconst read = 1",
      "src/b/B.ts": "export const readPart = 1\nconst read = 1",
      "src/providers/protocols/gemini/Request.ts": "export const encode = 1",
      "src/providers/protocols/openai-chat/Request.ts": "export const encode = 1",
      "test/a/A.ts": "export const Part = 1"
    }
  },
  uniqueFileNames: {
    breaks: { "src/a/Health.ts": "", "src/b/Health.ts": "", "test/support/Health.ts": "", "src/b/Request.ts": "" },
    at: ["src/b/Health.ts:1", "test/support/Health.ts:1"],
    keeps: {
      "src/a/Health.ts": "",
      "test/a/Health.test.ts": "",
      "test/b/Health.test.ts": "",
      "src/providers/protocols/gemini/Request.ts": "",
      "src/sandbox/protocols/gemini/Request.ts": ""
    }
  },
  specifiers: {
    breaks: { "src/a/A.ts": 'import { b } from "./B"\nimport { c } from "./C.js"\nexport * from ".."' },
    at: ["src/a/A.ts:1", "src/a/A.ts:2", "src/a/A.ts:3"],
    keeps: { "src/a/A.ts": 'import { b } from "./B.ts"\nimport c from "./c.json"\nimport { d } from "effect/sql"' }
  },
  fileLength: {
    breaks: {
      "src/a/A.ts": repeat(limits.sourceLines + 1, "//"),
      "test/a/A.test.ts": repeat(limits.testLines + 1, "//")
    },
    at: [`src/a/A.ts:${limits.sourceLines + 1}`, `test/a/A.test.ts:${limits.testLines + 1}`],
    keeps: {
      "src/a/A.ts": repeat(limits.sourceLines, "//"),
      "test/a/A.test.ts": repeat(limits.testLines, "//")
    }
  },
  functionLength: {
    breaks: {
      "src/a/A.ts": `\nconst f = () => {\n${repeat(limits.functionLines - 1, "f()")}}`,
      "src/a/B.ts": `class B {\n  m() {\n${repeat(limits.functionLines - 1, "f()")}}\n}`,
      "src/a/C.ts": `Effect.gen(function*() {\n${repeat(limits.functionLines - 1, '"}{"; /[}]/; `${"}"}`')}})`,
      "src/a/D.ts": `it("a case only by name", () => {\n${repeat(limits.functionLines - 1, "it()")}})`,
      "test/a/A.test.ts": `it("is long", () => {\n${repeat(limits.functionLines - 1, "f()")}})`
    },
    at: ["src/a/A.ts:2", "src/a/B.ts:2", "src/a/C.ts:1", "src/a/D.ts:1", "test/a/A.test.ts:1"],
    keeps: {
      "src/a/A.ts": `const f = () => {\n${repeat(limits.functionLines - 2, "f()")}}`,
      "src/a/B.ts": repeat(limits.functionLines * 2, "f()"),
      "test/a/A.test.ts": `describe("a", () => {\n${repeat(limits.functionLines - 2, 'it("b", () => {\nf()\n})')}})`
    }
  },
  columns: {
    breaks: { "src/a/A.ts": `//\n//${" ".repeat(limits.columns - 2)}.` },
    at: ["src/a/A.ts:2"],
    keeps: { "src/a/A.ts": `//${" ".repeat(limits.columns - 3)}.` }
  },
  tabs: { breaks: { "src/a/A.ts": "{\n\tf()\n}" }, at: ["src/a/A.ts:2"], keeps: { "src/a/A.ts": 'f("\\t")' } },
  headers: {
    breaks: { "src/a/A.ts": 'import "effect"\n/** Too late. */', "src/a/B.ts": "// Not a header.\n" },
    at: ["src/a/A.ts:1", "src/a/B.ts:1"],
    keeps: { "src/a/A.ts": "/** What it is. */\n", "src/cli.ts": "#!/usr/bin/env node\n/** What it is. */\n" }
  },
  fileNames: {
    breaks: { "src/a/utils.ts": "", "src/common/A.ts": "", "src/a/LedgerImpl.ts": "", "test/helpers/A.ts": "" },
    at: ["src/a/utils.ts:1", "src/common/A.ts:1", "src/a/LedgerImpl.ts:1", "test/helpers/A.ts:1"],
    keeps: { "src/a/Commons.ts": "", "src/a/Implicit.ts": "" }
  },
  globals: {
    breaks: {
      "src/a/A.ts": "console.log(1)\nDate.now()\nnew Date(0)\nperformance.now()\nMath.random()\nglobalThis.Date.now()",
      "src/a/B.ts":
        'process.env.HOME\nconst { HOME } = process.env\nprocess["env"]\nimport { env as e } from "node:process"',
      "test/a/A.test.ts": "Date.now()"
    },
    at: [...linesOf("src/a/A.ts", 6), ...linesOf("src/a/B.ts", 4), "test/a/A.test.ts:1"],
    keeps: {
      "src/Config.ts": "process.env",
      "src/a/A.ts": '// Date.now()\nf("console.log", `new Date()`)\nMath.max(1, 2)\nClock.now',
      "src/a/B.ts": 'import process from "node:process"\nprocess.pid',
      "test/bench/A.ts": "console.log(performance.now())"
    }
  },
  any: {
    breaks: { "src/a/A.ts": "const f = (x: any) => x\nf(1 as any)\nf(<any>1)\ntype A = Array<any>" },
    at: ["src/a/A.ts:1", "src/a/A.ts:2", "src/a/A.ts:3", "src/a/A.ts:4"],
    keeps: { "src/a/A.ts": "// as any other\nconst any: unknown = Effect.any" }
  },
  defaultExports: {
    breaks: { "src/a/A.ts": "//\nexport default 1" },
    at: ["src/a/A.ts:2"],
    keeps: { "vitest.config.ts": "export default 1", "src/a/A.ts": 'import A from "./a.json"\nexport { A }' }
  },
  markers: {
    breaks: { "src/a/A.ts": ["TO" + "DO", "FIX" + "ME", "X" + "XX"].map((word) => `// ${word}: later`).join("\n") },
    at: ["src/a/A.ts:1", "src/a/A.ts:2", "src/a/A.ts:3"],
    keeps: { "src/a/A.ts": `// ${"TO" + "DO"}S, to do` }
  },
  suppressions: {
    breaks: { "src/a/A.ts": `// @ts-${"ignore"}\nf()\n// @ts-${"nocheck"}` },
    at: ["src/a/A.ts:1", "src/a/A.ts:3"],
    keeps: { "src/a/A.ts": "// @ts-expect-error: proves that the type refuses it.\nf()" }
  },
  skipped: {
    breaks: { "test/a/A.test.ts": 'it.skip("x", f)\ndescribe.skip("y", f)\nit.effect.skip("z", f)\nit.only("w", f)' },
    at: ["test/a/A.test.ts:1", "test/a/A.test.ts:2", "test/a/A.test.ts:3", "test/a/A.test.ts:4"],
    keeps: {
      "test/a/A.test.ts": '// The engine cannot cancel.\nit.skip("x", f)\nit.skipIf(c)("y", f)',
      "src/a/A.ts": "Stream.skip"
    }
  }
} satisfies Record<keyof typeof rules, Sample>

const ruleNames = Object.keys(rules) as ReadonlyArray<keyof typeof rules>

describe("a style rule", () => {
  it.each(ruleNames)("%s reports what breaks it, and only that", (name) => {
    const { at, breaks, keeps }: Sample = samples[name]
    const places = rules[name].check(treeOf(breaks)).map(placeOf)
    assert.deepStrictEqual(places, [...at])
    assertNone(rules[name].check(treeOf(keeps)))
  })
})

describe("the source", () => {
  const handWritten = /\.(ts|js|mjs|css|html|sql)$/
  const paths = [
    ...filesUnder("src"),
    ...filesUnder("tools"),
    ...filesUnder("test"),
    ...filesUnder(".").filter((path) => /^\w+\.config\.ts$/.test(path))
  ]
  const tree = paths.filter((path) => handWritten.test(path)).map((path) => sourceFile(path, readText(path) ?? ""))

  it("is there to be read", () => assert.isAbove(tree.length, 20))

  it.each(ruleNames.map((name) => [rules[name].says, name] as const))("keeps the rule: %s", (_, name) =>
    assertNone(rules[name].check(tree))
  )
})

describe("what is published", () => {
  const published = publishedFiles().map((path) => ({ path, text: readText(path) ?? "" }))
  const isText = (text: string): boolean => !text.includes("\0")

  it("names no machine and no registry", () => {
    const [home, host] = [["", "home", "me"].join("/"), ["registry", "example", "org"].join(".")]
    const sample = { path: "a.md", text: `fine\ncd ${home}/x\nhttps://${host}/x\nhttps://mirror.test/x\n/homes/x` }
    assert.deepStrictEqual(privatePlaces([sample], ["mirror.test"]).map(placeOf), ["a.md:2", "a.md:3", "a.md:4"])
    assertNone(
      privatePlaces(
        published.filter(({ path, text }) => path !== "package-lock.json" && isText(text)),
        configuredRegistry()
      )
    )
  })

  it("has a lock file that installs from any registry", () => {
    const sample = { path: "package-lock.json", text: '{\n  "resolved": "x"\n}' }
    assert.lengthOf(pinnedRegistries(sample), 1)
    const lock = published.find(({ path }) => path === sample.path)
    assert.isDefined(lock)
    assertNone(pinnedRegistries(lock))
  })

  it("proves every error code", async () => {
    const sample = [{ path: "a", text: '"gone", "too_late"' }]
    assert.deepStrictEqual(unprovedCodes(["gone", "late"], sample), ["late: in no file under test/acceptance"])
    const { errorTable } = await import("../src/api/ErrorTable.ts")
    const acceptance = published.filter(({ path }) => path.startsWith("test/acceptance/"))
    const codes = Object.keys(errorTable)
    assert.isNotEmpty(codes)
    assertNone(unprovedCodes(codes, acceptance))
  })

  it("has every environment variable in its example, and no other", async () => {
    assert.deepStrictEqual(
      unmatchedVariables({
        declared: ["PORT", "HOST", "NAME"],
        catalog: ["ACME_API_KEY"],
        example: "PORT=8080\n# HOST=\nACME_API_KEY=\n# Set NAME= to taste\nPASSWORD=\nGHOST=",
        compose: "url: postgres://${PASSWORD:?set it}@db"
      }),
      ["NAME: not in .env.example", "GHOST: in .env.example but read by nothing"]
    )
    assert.deepStrictEqual(
      providerVariables([{ path: "a.json", text: '{"api_key_env": "A_KEY", "base_url_env":"A_URL", "id": "A"}' }]),
      ["A_KEY", "A_URL"]
    )
    const { variables } = await import("../src/Config.ts")
    assert.isNotEmpty(variables)
    assertNone(
      unmatchedVariables({
        declared: variables.map(({ name }) => name),
        catalog: providerVariables(published.filter(({ path }) => /^src\/catalog\/.*\.json$/.test(path))),
        example: readText(".env.example") ?? "",
        compose: readText("docker-compose.yml") ?? ""
      })
    )
  })
})
