/**
 * The database of the gateway that the environment describes, for commands that read it directly. The rule: nothing is
 * created and nothing is migrated. A command that is pointed at the wrong place fails and leaves it unchanged.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Data, Effect, FileSystem, Layer } from "effect"

import { settings } from "../Config.ts"
import { Database } from "../sql/Database.ts"
import * as DataDirectory from "../sql/DataDirectory.ts"

/** There is no database to read. `message` tells the operator what to do. */
export class NoDatabase extends Data.TaggedError("NoDatabase")<{ readonly message: string }> {}

const notFound = (dataDir: string) =>
  new NoDatabase({ message: `There is no database in ${dataDir}: set DATABASE_URL, or DATA_DIR as the gateway has it` })

const inUse = (dataDir: string) =>
  new NoDatabase({
    message:
      `A running gateway has the embedded database in ${dataDir}, which only one process can open: ` +
      "stop that gateway and run this again. On PostgreSQL this runs beside working gateways"
  })

/** Fails with `NoDatabase` if there is none, or if a running gateway has the embedded one open. */
export const connectionLayer = Layer.unwrap(
  Effect.gen(function* () {
    const { dataDir, url } = (yield* settings).database
    const files = yield* FileSystem.FileSystem
    if (url === undefined && !(yield* files.exists(DataDirectory.databaseIn(dataDir)))) return yield* notFound(dataDir)
    return Database.layerMigrated({ url, dataDir, poolSize: 1 }).pipe(
      Layer.catch((error) =>
        Layer.effectContext(
          Effect.fail(
            error instanceof DataDirectory.DataDirectoryError && error.reason === "InUse" ? inUse(dataDir) : error
          )
        )
      )
    )
  })
).pipe(Layer.provide(NodeFileSystem.layer))
