/**
 * Opens the embedded engine, PGlite, with what it needs and nothing more: it takes most of the memory and of the time
 * of a start. It is imported only when it is used.
 *
 * The rule: it is spoken to in PostgreSQL's protocol only (`PgliteWire.ts`). Its own ways to query are not set up.
 */
import { setFlagsFromString } from "node:v8"

import { PGlite } from "@electric-sql/pglite"

import { createIfMissing } from "./EmptyDatabase.ts"

/** The engine has one session, and its files are in the cache of the system: a large cache of its own gains nothing. */
const memorySettings = ["shared_buffers=16MB", "wal_buffers=1MB"]

/** Functions of the engine's WebAssembly module. A text is the address of its bytes. */
interface ParserFunctions {
  readonly _raw_parser: (text: number, mode: number) => number
  readonly stringToUTF8OnStack: (text: string) => number
  readonly stackSave: () => number
  readonly stackRestore: (top: number) => void
}

const hasParser = (module: object | undefined): module is ParserFunctions =>
  module !== undefined && "_raw_parser" in module && "stackSave" in module

/**
 * Keeps V8 from optimizing the engine's SQL parser. Its grammar is one function of a hundred kilobytes, which takes the
 * optimizer two seconds of processor time and 600 MB of memory and gains nothing, since statements are prepared once.
 *
 * V8 compiles a function when it is first called, and counts its calls only if the filter admits it at that time. So
 * the parser is called once, with an empty text, while the filter admits no function.
 */
const leaveParserUnoptimized = (module: object | undefined): void => {
  if (!hasParser(module)) return
  const top = module.stackSave()
  setFlagsFromString("--wasm-tier-up-filter=0")
  try {
    module._raw_parser(module.stringToUTF8OnStack(""), 0)
  } finally {
    setFlagsFromString("--wasm-tier-up-filter=-1")
    module.stackRestore(top)
  }
}

/** Opens the database in a directory, which is made if it does not exist. */
export const openEngine = async (directory: string): Promise<PGlite> => {
  createIfMissing(directory)
  // Four times the default, so that what only a start is busy with is not optimized.
  setFlagsFromString("--wasm-tiering-budget=52000000")
  const engine = new (class extends PGlite {
    /** Called when the engine is up. The types are for queries that do not come through the protocol. */
    override _initArrayTypes(): Promise<void> {
      leaveParserUnoptimized(this.mod)
      return Promise.resolve()
    }
  })(directory, {
    startParams: [...PGlite.defaultStartParams, ...memorySettings.flatMap((setting) => ["-c", setting])]
  })
  await engine.waitReady
  return engine
}
