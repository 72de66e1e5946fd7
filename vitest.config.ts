/** One test run: databases for the suites are prepared once, and worker processes are reused between files. */
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/databases.ts"],
    // Every worker that loads Effect and the embedded engine anew pays a second for it.
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000
  }
})
