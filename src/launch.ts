/**
 * What `npm start` runs: the gateway of `main.ts`, whose modules are compiled once and kept. With `WORKERS` it is the
 * primary, which starts this file again for each worker.
 *
 * The rule: nothing is imported here before the cache is on. Without the cache every start strips the types of all
 * modules and compiles them again, which is half of its processor time.
 */
import { enableCompileCache } from "node:module"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"

// Where the directory cannot be written, the start only takes longer. NODE_COMPILE_CACHE names another one.
enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/tollgate/compiled"))

// What strips the types is WebAssembly, and runs for a second on the first start: optimizing it would not pay.
setFlagsFromString("--wasm-tiering-budget=1000000000")
const { WORKERS: workers = "" } = process.env
const start =
  process.argv[2] === "worker"
    ? (await import("./workers/Worker.ts")).startWorker
    : ["", "1"].includes(workers)
      ? (await import("./main.ts")).start
      : (await import("./workers/Primary.ts")).startPrimary
setFlagsFromString("--wasm-tiering-budget=13000000")
start()
