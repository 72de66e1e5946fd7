/** One test run: databases for the suites are prepared once, and worker processes are reused between files. */
import { defineConfig } from "vitest/config"

import { EngineReporter } from "./test/support/EngineReporter.ts"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/databases.ts"],
    // `TEST_REPORT` names a file for the run's results as JSON, for whoever counts them.
    reporters: ["default", new EngineReporter(), ...(process.env["TEST_REPORT"] ? ["json"] : [])],
    ...(process.env["TEST_REPORT"] && { outputFile: { json: process.env["TEST_REPORT"] } }),
    // Every worker that loads Effect and the embedded engine anew pays a second for it.
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    // These end a test that hangs. They are long because a busy machine is several times slower.
    testTimeout: 90_000,
    hookTimeout: 180_000
  }
})
