/** The samples of the API reference, run as their readers would run them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { type Language, languages, samplesOf } from "../../src/http/reference/CodeSamples.ts"
import { operationsIn, titleOf } from "../../src/http/reference/OperationView.ts"
import { publishedApi } from "../../src/http/reference/PublishedApi.ts"
import { hasProgram, runCommand, runShell } from "../support/Commands.ts"
import { TestGateway } from "../support/TestGateway.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

/** Every sample starts a program, on a machine that may be busy with other suites. */
const programsTimeout = 180_000

interface Sample {
  readonly name: string
  readonly codes: { readonly [L in Language]: string }
}

/** The samples of each operation: one for every example of a request, or one where it has no body. */
const samples = (generation: string): ReadonlyArray<Sample> => {
  const document = publishedApi("svc")
  // What operators do needs another key, and things that are there.
  const callers = operationsIn(document).filter(({ operation }) => operation.security.some((one) => "bearer" in one))
  return callers.flatMap((placed) => {
    const [media] = Object.values(placed.operation.requestBody?.content ?? {})
    const given = Object.values(media?.examples ?? {})
    const examples = given.length > 0 ? given : [{ summary: titleOf(placed), value: undefined }]
    return examples.map(({ summary = "", value }) => {
      const codes = samplesOf(document, { ...placed, body: value })
      return {
        name: `${placed.operation.operationId}: ${summary}`,
        // A file and a request that are there.
        codes: JSON.parse(
          JSON.stringify(codes)
            .replaceAll("speech.mp3", "examples/audio/tone.wav")
            .replaceAll("01a203b4-b71a-76fe-9c67-e2d507f95a68", generation)
        ) as typeof codes
      }
    })
  })
}

const isAnswer = /\bobject"?'?[:=] ?["']|\b(?:cost|input_tokens)"?'?[:=] ?\d|The sandbox heard/

/** Fails unless the program ends well and prints an answer. */
const assertAnswers = (name: string, { code, output }: { readonly code: number | null; readonly output: string }) => {
  assert.strictEqual(code, 0, `${name}: ${output}`)
  assert.match(output, isAnswer, name)
}

const hasPython = hasProgram("python3")
const hasOpenAiForPython =
  hasPython && (await Effect.runPromise(runCommand("python3", ["-c", "import openai, requests"]))).code === 0

onEmbedded.sandbox("The samples of the API reference", (it) => {
  /** Runs every sample of a language, one after the other. */
  const runAll = (
    language: Language,
    run: (code: string, env: Record<string, string>) => ReturnType<typeof runShell>
  ) =>
    Effect.gen(function* () {
      const { chat, key, url } = yield* TestGateway
      const reply = yield* chat({ messages: [{ role: "user", content: "Hello" }] })
      const all = samples(reply.headers.get("x-request-id") ?? "")
      assert.isAbove(all.length, 12)
      for (const { codes, name } of all)
        assertAnswers(name, yield* run(codes[language], { TOLLGATE_URL: url, TOLLGATE_KEY: key }))
    })

  const registered = (language: Language, lacks: string | undefined, test: ReturnType<typeof runAll>) => {
    const name = `run in ${languages[language]}`
    if (lacks === undefined) it.effect(name, () => test, programsTimeout)
    // The program is not installed on this machine, and the name of the test says which.
    else it.effect.skip(`${name} [no ${lacks}]`, () => test)
  }

  registered("curl", hasProgram("curl") ? undefined : "curl", runAll("curl", runShell))

  registered(
    "node",
    undefined,
    runAll("node", (code, env) => runCommand(process.execPath, ["--input-type=module", "--eval", code], env))
  )

  registered(
    "python",
    hasOpenAiForPython ? undefined : "package openai for python3",
    runAll("python", (code, env) => runCommand("python3", ["-c", code], env))
  )

  it.effect.skipIf(!hasPython)("are Python", () =>
    Effect.gen(function* () {
      const codes = samples("x").map(({ codes }) => codes.python)
      const check = "import ast, json, sys; [ast.parse(code) for code in json.loads(sys.argv[1])]"
      const { code, output } = yield* runCommand("python3", ["-c", check, JSON.stringify(codes)])
      assert.strictEqual(code, 0, output)
    })
  )
})
