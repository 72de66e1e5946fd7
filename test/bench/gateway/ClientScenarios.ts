/** The same request in each protocol of clients, beside the bare proxy, which passes on chat completions. */
import type { BenchCall } from "./BenchLoad.ts"
import { streamedChunks } from "./BenchProvider.ts"
import { type Bench, type BenchScenario, inTurn } from "./BenchScenario.ts"
import { plainCall } from "./ChatScenarios.ts"
import { always, beside } from "./Comparison.ts"

const model = "gpt-4o-mini"
const system = "You are helpful."
const question = "Tell me a short greeting for a friendly letter to an old friend from school, please."
const asMessages = [
  { role: "system", content: system },
  { role: "user", content: question }
]

const callsOf = (stream: boolean): Readonly<Record<string, BenchCall>> => ({
  "chat completions": stream
    ? { path: plainCall.path, body: JSON.stringify({ model, stream, messages: asMessages }) }
    : plainCall,
  responses: {
    path: "/v1/responses",
    body: JSON.stringify({ model, stream, store: false, instructions: system, input: question })
  },
  messages: {
    path: "/v1/messages",
    body: JSON.stringify({
      model,
      stream,
      max_tokens: 4_096,
      system,
      messages: [{ role: "user", content: question }]
    })
  }
})

const inEachProtocol = async (scenario: string, { floor, gateway, load, rounds }: Bench, stream: boolean) => {
  const calls = Object.entries(callsOf(stream))
  const [chat] = Object.values(callsOf(stream))
  const servers = [floor, ...calls.map(([name]) => ({ ...gateway, name }))]
  const all = await inTurn(rounds, [
    () => load.throughput(floor, always(chat ?? plainCall)),
    ...calls.map(
      ([, call]) =>
        () =>
          load.throughput(gateway, always(call))
    )
  ])
  return beside(scenario, servers, all)
}

const clients: BenchScenario = {
  summary: `the same request, and a stream of ${streamedChunks} chunks, in each protocol of clients`,
  run: async (bench) => [
    ...(await inEachProtocol("clients", bench, false)),
    ...(await inEachProtocol("clients, streams", bench, true))
  ]
}

export const clientScenarios = { clients } as const
