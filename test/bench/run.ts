/** `npm run bench -- <name>` runs the bench of that name in this folder. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

const name = process.argv[2] ?? ""
const file = join(import.meta.dirname, `${name}.ts`)
if (/^[a-z]+$/.test(name) && name !== "run" && existsSync(file)) await import(file)
else {
  console.error("Usage: npm run bench -- gateway|ledger|limits|log|operations|start")
  process.exitCode = 2
}
