/**
 * `npm run database` makes `src/sql/empty-database.zst` anew: the files of an empty database of the embedded engine,
 * from which a first start makes its data directory. With `npm run database -- 15` it has the first fifteen migrations,
 * and a start applies the others. To be run after an update of the engine, which the test of `src/sql/EmptyDatabase.ts`
 * finds, and before a release, so that a first start has little to migrate.
 */
import { createHash } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import process from "node:process"
import { constants, zstdCompressSync } from "node:zlib"

import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { Effect } from "effect"
import { Migrator } from "effect/sql"

import { archivePath, type DatabaseFiles } from "../../src/sql/EmptyDatabase.ts"
import { migrations } from "../../src/sql/Migrations.ts"
import { connectTo } from "../../src/sql/PgliteWire.ts"

/** Files with the same content share it: the three databases of a new cluster are nearly equal. */
const filesOf = (root: string): { readonly files: DatabaseFiles; readonly contents: Buffer } => {
  const entries = readdirSync(root, { withFileTypes: true, recursive: true })
    .map((entry) => ({ entry, path: relative(root, join(entry.parentPath, entry.name)) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const starts = new Map<string, number>()
  const contents: Array<Buffer> = []
  let end = 0
  const stored = (path: string) => {
    const content = readFileSync(join(root, path))
    // What follows the last byte that is not zero is left out: most of the journal is empty.
    const bytes = content.findLastIndex((byte) => byte !== 0) + 1
    const part = content.subarray(0, bytes)
    const digest = createHash("sha256").update(part).digest("hex")
    const start = starts.get(digest) ?? end
    if (start === end) {
      starts.set(digest, start)
      contents.push(part)
      end += bytes
    }
    return { path, start, bytes, length: content.length }
  }
  return {
    files: {
      directories: entries.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path),
      files: entries.filter(({ entry }) => entry.isFile()).map(({ path }) => stored(path))
    },
    contents: Buffer.concat(contents)
  }
}

const migrate = (engine: PGlite, count: number): Promise<unknown> =>
  Migrator.make({})({
    loader: Migrator.fromRecord(Object.fromEntries(Object.entries(migrations).slice(0, count))),
    table: "schema_migration"
  }).pipe(
    Effect.provide(
      PgClient.layer({ stream: connectTo(engine), username: "postgres", database: "postgres", maxConnections: 1 }),
      { local: true }
    ),
    Effect.runPromise
  )

const directory = mkdtempSync(join(tmpdir(), "tollgate-embedded-"))
try {
  const engine = await PGlite.create(join(directory, "postgres"), {
    // Its journal would else be filled with whole pages, and be most of the archive.
    startParams: [...PGlite.defaultStartParams, "-c", "full_page_writes=off"]
  })
  await migrate(engine, Number(process.argv[2] ?? Infinity))
  await engine.close()
  const { contents, files } = filesOf(join(directory, "postgres"))
  const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_enableLongDistanceMatching]: 1 }
  const archive = Buffer.concat([Buffer.from(`${JSON.stringify(files)}\n`), contents])
  writeFileSync(archivePath, zstdCompressSync(archive, { params }))
} finally {
  rmSync(directory, { recursive: true, force: true })
}
