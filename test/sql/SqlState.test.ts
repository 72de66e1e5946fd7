import { assert, describe, it } from "@effect/vitest"
import { SqlError } from "effect/sql"

import { isOutOfRange, isPermanent, isProgramFault } from "../../src/sql/SqlState.ts"

/** The error for a failure with this code of PostgreSQL, or without one. */
const errorWith = (code: string | undefined) =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: Object.assign(new Error("failed"), code === undefined ? {} : { code }) })
  })

const connectionLost = new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error("lost") }) })

describe("SqlState", () => {
  const cases = [
    ["numeric value out of range", "22003", true],
    ["unique violation", "23505", true],
    ["undefined table", "42P01", true],
    ["deadlock", "40P01", false],
    ["serialization failure", "40001", false],
    ["server is shutting down", "57P01", false],
    ["too many connections", "53300", false]
  ] as const
  for (const [name, code, permanent] of cases) {
    it(`takes ${name} for a ${permanent ? "permanent" : "transient"} failure`, () => {
      const error = errorWith(code)
      assert.deepStrictEqual(
        [isPermanent(error), isOutOfRange(error), isProgramFault(error)],
        [permanent, code === "22003", false]
      )
    })
  }

  it("takes a lost connection for a transient failure", () => {
    assert.deepStrictEqual([isPermanent(connectionLost), isProgramFault(connectionLost)], [false, false])
  })

  it("takes an unknown error without a code for a fault of the program", () => {
    const error = errorWith(undefined)
    assert.deepStrictEqual([isPermanent(error), isProgramFault(error)], [false, true])
  })
})
