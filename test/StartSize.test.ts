import { execFileSync } from "node:child_process"
import { join } from "node:path"
import process from "node:process"

import { assert, it } from "@effect/vitest"

/** What a module graph consists of when everything that a start needs has been loaded. */
interface Loaded {
  readonly own: number
  readonly packages: number
  /** The bytes of all of them. */
  readonly bytes: number
  readonly names: ReadonlyArray<string>
}

/** Loads the gateway in a process of its own, as a start does, and counts. */
const loaded = (entry: string): Loaded => {
  const script = `
    import { registerHooks } from "node:module"
    const sizes = new Map()
    registerHooks({
      load: (url, context, next) => {
        const module = next(url, context)
        if (url.startsWith("file:")) sizes.set(url, module.source?.length ?? 0)
        return module
      }
    })
    await import("./src/${entry}")
    const names = [...sizes.keys()]
    const packages = names.filter((name) => name.includes("/node_modules/")).length
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
    console.log(JSON.stringify({ packages, own: names.length - packages, bytes, names }))`
  const output = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: join(import.meta.dirname, ".."),
    encoding: "utf8",
    maxBuffer: 16 * 1024 * 1024
  })
  return JSON.parse(output) as Loaded
}

/**
 * A start reads, links and runs every one of them. The limits are a tenth over what is needed today: who exceeds them
 * has loaded something that may wait until it is used, or raises them knowingly.
 */
const limits = { own: 520, packages: 610, bytes: 11_800_000 } as const

it("A start loads no more modules than it needs, and neither the embedded engine nor the reference", () => {
  const { names, ...sizes } = loaded("main.ts")
  for (const name of ["own", "packages", "bytes"] as const) assert.isAtMost(sizes[name], limits[name], name)
  for (const part of ["@electric-sql/pglite", "src/http/reference/ReferencePage.ts", "src/cli/", "src/workers/"])
    assert.deepStrictEqual(
      names.filter((name) => name.includes(part)),
      []
    )
})

it("The primary of several workers loads nothing of the gateway", () => {
  const { names } = loaded("workers/Primary.ts")
  for (const part of ["src/main.ts", "src/http/", "src/sql/", "src/ledger/", "@effect/sql-pg"])
    assert.deepStrictEqual(
      names.filter((name) => name.includes(part)),
      []
    )
})
