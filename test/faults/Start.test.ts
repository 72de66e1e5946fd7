/** A start, looked at from outside: orchestrators and clients try the port long before anything can answer. */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { inject } from "vitest"

import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

/** The first answer of a port that may still be closed. */
const firstAnswer = async (url: string): Promise<number> => {
  while (true) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
      return response.status
    } catch (error) {
      // Nobody listens yet.
      if (!(error instanceof TypeError)) throw error
      await pause(5)
    }
  }
}

describe("A gateway that starts", () => {
  it("answers whoever gets a connection, however early", { timeout: 60_000 }, async () => {
    const port = await PostgresServer.freePort()
    const gateway = new GatewayProcess(port, { DATA_DIR: join(inject("scratch"), "start") })
    try {
      assert.strictEqual(await firstAnswer(`${gateway.url}/health/live`), 200)
    } finally {
      await gateway.kill()
    }
  })
})
