/**
 * The start of a gateway as seen from outside: orchestrators and clients try the port long before anything can answer.
 */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { inject } from "vitest"

import { GatewayProcess } from "../support/GatewayProcess.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

/** The status of the first answer from a port that may still be closed. */
const firstStatus = async (url: string): Promise<number> => {
  while (true) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
      return response.status
    } catch (error) {
      // A closed port is a TypeError; a connection that gets no answer is a timeout, and fails the test.
      if (!(error instanceof TypeError)) throw error
      await pause(5)
    }
  }
}

describe("A gateway that starts", () => {
  it("answers every connection that it accepts, however early", { timeout: 60_000 }, async () => {
    const port = await PostgresServer.freePort()
    const gateway = new GatewayProcess(port, { DATA_DIR: join(inject("scratch"), "start") })
    try {
      assert.strictEqual(await firstStatus(`${gateway.url}/health/live`), 200)
    } finally {
      await gateway.kill()
    }
  })
})
