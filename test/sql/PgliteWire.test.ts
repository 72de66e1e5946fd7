import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"

import { connectTo } from "../../src/sql/PgliteWire.ts"
import { dataDirectory } from "../support/TestDatabase.ts"

const engine = Effect.flatMap(dataDirectory, (directory) =>
  Effect.acquireRelease(
    Effect.promise(() => PGlite.create(`${directory}/postgres`)),
    (database) => Effect.promise(() => database.close())
  )
)

const clientOf = (database: PGlite) =>
  PgClient.make({ stream: connectTo(database), username: "postgres", database: "postgres", maxConnections: 1 }).pipe(
    Effect.provide(Reactivity.layer)
  )

const message = (type: string, ...fields: ReadonlyArray<string>): Buffer => {
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(""))
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + length.length)
  return Buffer.concat([Buffer.from(type), length, body])
}
const query = (text: string): Buffer => message("Q", text)
/** Protocol 3.0, then names and values, then the empty name that ends the list. */
const startup = message("", "\0\u0003\0", "user", "postgres", "database", "postgres", "")

describe("PgliteWire", () => {
  it.live("lets timers and sockets run between statements that are sent without a pause", () =>
    Effect.gen(function* () {
      const connection = connectTo(yield* engine)()
      const statements = 200
      const turns = yield* Effect.promise(async () => {
        let turns = 0
        let replies = 0
        const replied = new Promise<void>((resolve) => {
          const turn = () => (replies > statements ? resolve() : (turns++, setImmediate(turn)))
          connection.on("data", () => replies++)
          turn()
        })
        connection.write(startup)
        connection.write(Buffer.concat(Array.from({ length: statements }, () => query("SELECT 1"))))
        await replied
        connection.destroy()
        return turns
      })
      assert.isAtLeast(turns, statements)
    })
  )

  it.live("hides everything of one session from the next one", () =>
    Effect.gen(function* () {
      const database = yield* engine
      const connect = connectTo(database)
      const client = PgClient.make({
        stream: connect,
        username: "postgres",
        database: "postgres",
        maxConnections: 1
      }).pipe(Effect.provide(Reactivity.layer))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* client
          yield* sql`CREATE TABLE kept (id int)`
          yield* sql`SET statement_timeout = 1234`
          yield* sql`SELECT 1 FROM kept`
          yield* sql`BEGIN`
          yield* sql`INSERT INTO kept VALUES (1)`
        })
      )
      const sql = yield* client
      assert.deepStrictEqual(yield* sql`SELECT 1 FROM kept`, [])
      assert.deepStrictEqual(yield* sql`SHOW statement_timeout`, [{ statement_timeout: "0" }])
    })
  )

  it.live("transfers parameters and rows that are larger than the buffer of a socket", () =>
    Effect.gen(function* () {
      const sql = yield* Effect.flatMap(engine, clientOf)
      const text = "x".repeat(3_000_000)
      const rows = yield* sql<{ readonly text: string }>`SELECT ${text}::text AS text`
      assert.strictEqual(rows[0]?.text, text)
    })
  )

  it.live("works on after a statement that fails and one that is interrupted", () =>
    Effect.gen(function* () {
      const sql = yield* Effect.flatMap(engine, clientOf)
      const error = yield* Effect.flip(sql`SELECT * FROM nowhere`)
      assert.include(String(error.reason.cause), "nowhere")
      yield* Effect.exit(Effect.timeout(sql`SELECT pg_sleep(0.1)`, "5 millis"))
      assert.deepStrictEqual(yield* sql`SELECT 2 AS two`, [{ two: 2 }])
    })
  )
})
