/**
 * The start of a gateway as seen from outside: orchestrators and clients try the port long before anything can answer.
 */
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"

import { assert, describe, it } from "@effect/vitest"
import { inject } from "vitest"

import { GatewayProcess } from "../support/GatewayProcess.ts"
import { drive, NeverSent } from "../support/HttpDriver.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

/**
 * The status of the first answer from a port that may still be closed, or `undefined` if the gateway ends before that.
 * A connection that is accepted and gets no answer keeps this waiting until the limit of the test.
 */
const firstStatus = async (gateway: GatewayProcess): Promise<number | undefined> => {
  let ended = false
  void gateway.ended.then(() => {
    ended = true
  })
  while (!ended) {
    try {
      return (await drive(`${gateway.url}/health/live`, { retries: 0 })).statusCode
    } catch (error) {
      // A closed port refuses the connection, and resets one that meets the look whether the port is free. One that is
      // closed in any other way without an answer fails the test.
      if (!(error instanceof NeverSent) && !(error instanceof Error && /ECONNRESET/.test(error.message))) throw error
      await pause(5)
    }
  }
  return undefined
}

describe("A gateway that starts", () => {
  it("answers every connection that it accepts, however early", { timeout: 300_000 }, async () => {
    const port = await PostgresServer.freePort()
    const gateway = new GatewayProcess(port, { DATA_DIR: join(inject("scratch"), "start") })
    try {
      assert.strictEqual(await firstStatus(gateway), 200, gateway.output.join(""))
    } finally {
      await gateway.kill()
    }
  })
})
