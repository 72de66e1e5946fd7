/**
 * The coding agents that the suite runs, as their users install them from npm. They are large, so they are no
 * dependencies of the project: `npm run test:agents` installs them in a folder of their own and runs the suite.
 */
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import process from "node:process"

import { Effect } from "effect"
import { inject } from "vitest"

import { root } from "../../support/SourceTree.ts"
import { agentsFolder } from "./AgentPackages.ts"

/** What an agent is to do with the gateway. */
export interface Task {
  /** Of the gateway, without a path. */
  readonly url: string
  readonly key: string
  readonly model: string
  readonly prompt: string
}

export interface Agent {
  readonly name: string
  readonly program: string
  /** The tool by which the agent runs a command, and its arguments for one. */
  readonly shell: (command: string) => { readonly tool: string; readonly input: object }
  /** Each of them reads the prompt from its standard input. */
  readonly arguments: (task: Task) => ReadonlyArray<string>
  readonly environment: (task: Task) => Readonly<Record<string, string>>
  /** The files of its configuration, by their path from the home folder. */
  readonly configuration: (task: Task) => Readonly<Record<string, string>>
}

const codex: Agent = {
  name: "Codex",
  program: "codex",
  shell: (command) => ({ tool: "exec_command", input: { cmd: command } }),
  arguments: () => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"],
  environment: ({ key }) => ({ TOLLGATE_KEY: key }),
  configuration: ({ model, url }) => ({
    ".codex/config.toml": [
      `model = ${JSON.stringify(model)}`,
      'model_provider = "tollgate"',
      "[model_providers.tollgate]",
      'name = "Tollgate"',
      `base_url = "${url}/v1"`,
      'env_key = "TOLLGATE_KEY"',
      'wire_api = "responses"'
    ].join("\n")
  })
}

const claudeCode: Agent = {
  name: "Claude Code",
  program: "claude",
  shell: (command) => ({ tool: "Bash", input: { command, description: "Runs the task" } }),
  arguments: ({ model }) => ["--model", model, "--dangerously-skip-permissions", "-p"],
  environment: ({ key, url }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    // It runs without permissions only where it is told that it can do no harm, if the user is root.
    IS_SANDBOX: "1"
  }),
  configuration: () => ({})
}

const openCode: Agent = {
  name: "opencode",
  program: "opencode",
  shell: (command) => ({ tool: "bash", input: { command, description: "Runs the task" } }),
  arguments: () => ["run"],
  environment: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "1" }),
  configuration: ({ key, model, url }) => ({
    ".config/opencode/opencode.json": JSON.stringify({
      provider: {
        tollgate: {
          npm: "@ai-sdk/openai-compatible",
          name: "Tollgate",
          options: { baseURL: `${url}/v1`, apiKey: key },
          models: { [model]: { name: model } }
        }
      },
      model: `tollgate/${model}`,
      permission: { bash: "allow" }
    })
  })
}

export const agents: ReadonlyArray<Agent> = [codex, claudeCode, openCode]

const programOf = ({ program }: Agent): string => join(agentsFolder, "node_modules/.bin", program)

export const isInstalled = (agent: Agent): boolean => existsSync(programOf(agent))

/** The file into which an agent is to write, in the folder it works in. */
export const resultFile = "result.txt"

export interface AgentRun {
  readonly code: number | null
  /** Standard output and standard error as they came. */
  readonly output: string
  /** What it wrote into `resultFile`; `undefined` where there is no such file. */
  readonly result: string | undefined
}

/** Lets an agent do its task in an empty folder, with a home of its own. */
export const runAgent = Effect.fnUntraced(function* (agent: Agent, task: Task) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(inject("scratch"), "agent-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  const [home, work] = [join(folder, "home"), join(folder, "work")]
  mkdirSync(work)
  mkdirSync(home)
  for (const [path, text] of Object.entries(agent.configuration(task))) {
    mkdirSync(join(home, path, ".."), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const PATH = [join(process.execPath, ".."), join(root, "node_modules/.bin"), process.env["PATH"] ?? ""].join(":")
  const ended = yield* Effect.callback<Pick<AgentRun, "code" | "output">>((resume) => {
    const child = spawn(programOf(agent), agent.arguments(task), {
      cwd: work,
      env: { PATH, HOME: home, ...agent.environment(task) },
      stdio: "pipe"
    })
    child.stdin.end(task.prompt)
    let output = ""
    const collect = (piece: Buffer) => void (output += piece.toString())
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    child.on("error", (error) => resume(Effect.succeed({ code: null, output: error.message })))
    child.on("close", (code) => resume(Effect.succeed({ code, output })))
    return Effect.sync(() => void child.kill())
  })
  const result = join(work, resultFile)
  return { ...ended, result: existsSync(result) ? readFileSync(result, "utf8") : undefined } satisfies AgentRun
}, Effect.scoped)
