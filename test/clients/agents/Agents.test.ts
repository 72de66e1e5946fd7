/**
 * Real coding agents with the gateway: each does a small task that takes a tool call, with models of every protocol
 * that the catalog routes to. The sandbox plays the model, and the prompt says what it does.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { TestGateway } from "../../support/TestGateway.ts"
import { onEmbedded } from "../EmbeddedGateway.ts"
import { agents, isInstalled, resultFile, runAgent } from "./Agents.ts"

/** One model of each protocol, and the router. */
const models = ["gpt-4o-mini", "gpt-5-mini", "claude-sonnet-5", "gemini-3.6-flash", "svc-auto"]

onEmbedded.sandbox("Coding agents", (it) => {
  for (const agent of agents) {
    // They are large and are installed by `npm run test:agents` alone.
    if (!isInstalled(agent)) it.effect.skip(`${agent.name} (not installed; npm run test:agents)`, () => Effect.void)
    else
      for (const model of models)
        it.effect(`${agent.name} does a task with a tool call, with ${model}`, () =>
          Effect.gen(function* () {
            const { key, url } = yield* TestGateway
            const { input, tool } = agent.shell(`echo 4711 | tee ${resultFile}`)
            const prompt = `Write the number. [call:${tool} ${JSON.stringify(input)}]`
            const { code, output, result } = yield* runAgent(agent, { url, key, model, prompt })
            assert.deepStrictEqual([result, code], ["4711\n", 0], output)
            assert.include(output, "The tool answered", "the result of the tool went back to the model")
            assert.include(output, "4711")
          })
        )
  }
})
