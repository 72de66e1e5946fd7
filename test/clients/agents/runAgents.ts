/** Installs the coding agents, unless they are there, and runs their suite: `npm run test:agents`. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

import { root } from "../../support/SourceTree.ts"
import { agentPackages, agentsFolder } from "./AgentPackages.ts"

const run = (program: string, words: ReadonlyArray<string>, cwd: string): void => {
  const { status } = spawnSync(program, words, {
    cwd,
    stdio: "inherit",
    env: { ...process.env, AGENTS_DIR: agentsFolder }
  })
  if (status !== 0) process.exit(status ?? 1)
}

const manifest = join(agentsFolder, "package.json")
const wanted = JSON.stringify({ private: true, dependencies: agentPackages })
if (!existsSync(manifest) || readFileSync(manifest, "utf8") !== wanted) {
  mkdirSync(agentsFolder, { recursive: true })
  writeFileSync(manifest, wanted)
  run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock"], agentsFolder)
}
run(join(root, "node_modules/.bin/vitest"), ["run", "test/clients/agents"], root)
