/** Loaded before a gateway: every process of worker 1 ends at once while the file `CRASH_WHILE` exists. */
import { existsSync } from "node:fs"
import process from "node:process"

const [, , role, slot] = process.argv
if (role === "worker" && slot === "1" && existsSync(process.env["CRASH_WHILE"] ?? "")) process.exit(7)
