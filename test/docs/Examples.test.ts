/** Every program in `examples/`, run against a gateway with the simulated provider. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { hasProgram, runCommand } from "../support/Commands.ts"
import { filesUnder } from "../support/SourceTree.ts"
import { TestGateway } from "../support/TestGateway.ts"

/** What each example prints; an example that is not listed fails. */
const prints: { readonly [path: string]: RegExp } = {
  "examples/curl/chat.sh": /"object":"chat\.completion"/,
  "examples/curl/error.sh": /"code":"invalid_request".*\nstatus 400/,
  "examples/curl/failover.sh": /"outcome":"Transient","status":503.*"outcome":"answered"/,
  "examples/curl/idempotency.sh": /^idempotent-replayed: true/,
  "examples/curl/receipt.sh": /"object":"generation".*"cost_usd"/,
  "examples/curl/session.sh": /second request: /,
  "examples/curl/stream.sh": /"finish_reason":"stop"[^]*data: \[DONE\]/,
  "examples/curl/transcribe.sh": /"seconds":1,/,
  "examples/curl/embed.sh": /"object":"embedding","index":1/,
  "examples/node/chat.mjs": /answered, for [\d.e-]+ USD/,
  "examples/node/idempotency.mjs": /Same answer: true\nReplayed: true/,
  "examples/node/json-schema.mjs": /^\S+ \d+$/m,
  "examples/node/receipt.mjs": /they agree/,
  "examples/node/stream.mjs": /\d+ tokens, [\d.e-]+ USD/,
  "examples/node/tools.mjs": /degrees/,
  "examples/node/transcribe.mjs": /1 s of audio/,
  "examples/node/embed.mjs": /Closest: How much is the toll\?\n1536 numbers/,
  "examples/node/verify-webhook.mjs": /as it was sent: true\nchanged: false\nold: false/,
  "examples/python/verify_webhook.py": /as it was sent: True\nchanged: False\nold: False/,
  "examples/python/with_openai.py": /answered, for [\d.e-]+ USD[^]*\d+ tokens[^]*2 vectors of 1536 numbers/,
  "examples/python/with_standard_library.py": /answered, for [\d.e-]+ USD[^]*400 invalid_model/
}

const hasPython = hasProgram("python3")
const hasOpenAiForPython =
  hasPython && (await Effect.runPromise(runCommand("python3", ["-c", "import openai"]))).code === 0

interface Example {
  readonly path: string
  readonly program: string
  /** Why it cannot run on this machine. */
  readonly lacks: string | undefined
}

const exampleOf = (path: string): Example | undefined => {
  if (path.endsWith(".mjs")) return { path, program: process.execPath, lacks: undefined }
  if (path.endsWith(".sh")) return { path, program: "sh", lacks: hasProgram("curl") ? undefined : "no curl" }
  if (!path.endsWith(".py")) return undefined
  const lacks = !hasPython
    ? "no python3"
    : path.includes("openai") && !hasOpenAiForPython
      ? "no package openai for python3"
      : undefined
  return { path, program: "python3", lacks }
}

const examples = filesUnder("examples").flatMap((path) => exampleOf(path) ?? [])

onEmbedded.sandbox("The examples", (it) => {
  it.effect("are all known to this suite", () =>
    Effect.sync(() => assert.deepStrictEqual(examples.map(({ path }) => path).sort(), Object.keys(prints).sort()))
  )

  for (const { lacks, path, program } of examples) {
    const name = `${path} runs${lacks === undefined ? "" : ` (skipped: ${lacks} on this machine)`}`
    it.effect.skipIf(lacks !== undefined)(
      name,
      () =>
        Effect.gen(function* () {
          const { key, url } = yield* TestGateway
          const { code, output } = yield* runCommand(program, [path], { TOLLGATE_URL: url, TOLLGATE_KEY: key })
          assert.strictEqual(code, 0, output)
          assert.match(output, prints[path] ?? /never/)
        }),
      300_000
    )
  }
})
