/** Says at the end of a run how many tests passed on which database engine: green must not hide a missing one. */
import type { Reporter, TestModule } from "vitest/node"

const engineOf = (suite: string): string => /\[(embedded|postgresql)\]/.exec(suite)?.[1] ?? "no engine"

export class EngineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>): void {
    const passed = new Map<string, number>()
    for (const module of modules) {
      for (const test of module.children.allTests("passed")) {
        const engine = engineOf(test.fullName)
        passed.set(engine, (passed.get(engine) ?? 0) + 1)
      }
    }
    const counts = ["no engine", "embedded", "postgresql"].map((engine) => `${engine} ${passed.get(engine) ?? 0}`)
    process.stdout.write(`\n Tests passed by database engine: ${counts.join(", ")}\n`)
  }
}
