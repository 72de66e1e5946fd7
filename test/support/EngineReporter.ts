/**
 * Reports at the end of a run how many tests passed on which database engine, which capabilities of which protocols
 * they proved, and which tests were skipped because a tool is not installed: a run that passes must not hide what it
 * left out.
 */
import type { Reporter, TestModule } from "vitest/node"

import { proofTable } from "./CapabilityTable.ts"

const engineOf = (suite: string): string => /\[(embedded|postgresql)\]/.exec(suite)?.[1] ?? "no engine"

export class EngineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const names = modules.flatMap((module) =>
      Array.from(module.children.allTests("passed"), ({ fullName }) => fullName)
    )
    const passed = new Map<string, number>()
    for (const name of names) passed.set(engineOf(name), (passed.get(engineOf(name)) ?? 0) + 1)
    const counts = ["no engine", "embedded", "postgresql"].map((engine) => `${engine} ${passed.get(engine) ?? 0}`)
    process.stdout.write(`\n Tests passed by database engine: ${counts.join(", ")}\n`)
    const skipped = modules
      .flatMap((module) => Array.from(module.children.allTests("skipped"), ({ name }) => name))
      .filter((name) => /\[no [^\]]+\]$/.test(name))
    if (skipped.length > 0) process.stdout.write(`\n Skipped, because a tool is missing:\n ${skipped.join("\n ")}\n`)
    const table = proofTable(names)
    if (table !== "") process.stdout.write(`\n Tests passed by protocol and capability:\n ${table}\n`)
  }
}
