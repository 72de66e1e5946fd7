/** Which packages of coding agents the suite runs, and where they are. */
import { join } from "node:path"
import process from "node:process"

import { root } from "../../support/SourceTree.ts"

/** Pinned: what they send changes from one version to the next. */
export const agentPackages: Readonly<Record<string, string>> = {
  "@openai/codex": "0.169.0",
  "@anthropic-ai/claude-code": "2.1.197",
  "opencode-ai": "1.18.33"
}

/** `AGENTS_DIR` names a folder in which they are installed already. */
export const agentsFolder = process.env["AGENTS_DIR"] ?? join(root, "node_modules/.cache/tollgate/agents")
