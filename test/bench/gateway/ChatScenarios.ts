/** Chats through the gateway beside the bare proxy, and beside the peers where they can answer the same request. */
import { differencesOf, type Figure, ratiosOf } from "./BenchFigures.ts"
import type { BenchCall } from "./BenchLoad.ts"
import { shortStreamText, streamedChunks } from "./BenchProvider.ts"
import { type BenchScenario, inTurn } from "./BenchScenario.ts"
import { ablePeers, always, beside, compared } from "./Comparison.ts"

const model = "gpt-4o-mini"
const steadyPerSecond = 200
const sessions = 1_000

const messages = [
  { role: "system", content: "You are helpful." },
  { role: "user", content: "Tell me a short greeting for a friendly letter to an old friend from school, please." }
]

export const chat = (body: object): BenchCall => ({ path: "/v1/chat/completions", body: JSON.stringify(body) })

/** The small request that other scenarios send as well. */
export const plainCall: BenchCall = chat({ model, messages })

const tools = Array.from({ length: 8 }, (_, index) => ({
  type: "function",
  function: {
    name: `look_up_${index}`,
    description: "Looks up what is known about a place, such as its weather, its time and its people.",
    parameters: {
      type: "object",
      properties: {
        place: { type: "string", description: "The name of the place, as people there write it." },
        unit: { type: "string", enum: ["metric", "imperial"] },
        days: { type: "integer", minimum: 1, maximum: 14 }
      },
      required: ["place"],
      additionalProperties: false
    }
  }
}))

/** A turn of an assistant that calls a tool: a question, the call, its result and the answer. */
const turn = (number: number): ReadonlyArray<object> => [
  { role: "user", content: `What is the weather in town number ${number}, and should I take an umbrella with me?` },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      {
        id: `call_${number}`,
        type: "function",
        function: { name: `look_up_${number % 8}`, arguments: `{"place":"town ${number}","days":2}` }
      }
    ]
  },
  { role: "tool", tool_call_id: `call_${number}`, content: `{"sky":"rain","degrees":${number},"wind":"south-west"}` },
  { role: "assistant", content: `It rains in town number ${number}, so an umbrella is a good idea today.` }
]

/** 50 messages. */
const conversation = [messages[0], ...Array.from({ length: 12 }, (_, index) => turn(index)).flat(), messages[1]]
const toolsCall = chat({ model, messages: conversation, tools })

const plain: BenchScenario = {
  summary: "a request of 2 messages to a named model",
  run: async (bench) =>
    compared("plain", bench, [bench.floor, bench.gateway, ...(await ablePeers(bench, plainCall))], always(plainCall), {
      goals: { perSecond: { atLeast: 0.4 }, cpu: { atMost: 2.5 } }
    })
}

const auto: BenchScenario = {
  summary: "the same for the gateway to choose the model",
  run: (bench) =>
    compared("auto", bench, [bench.floor, bench.gateway], always(chat({ reasoning_effort: "none", messages })), {
      goals: { perSecond: { atLeast: 0.33 } }
    })
}

const stream: BenchScenario = {
  summary: `a stream of ${streamedChunks} chunks`,
  run: async (bench) => {
    const call = chat({ model, stream: true, messages })
    const servers = [bench.floor, bench.gateway, ...(await ablePeers(bench, call))]
    return compared("stream", bench, servers, always(call), { goals: { cpu: { atMost: 1.25 } } })
  }
}

const toolsScenario: BenchScenario = {
  summary: "50 messages with tools, and what they cost beside 2 messages",
  run: async (bench) => {
    const { floor, gateway, load, rounds } = bench
    const servers = [floor, gateway, ...(await ablePeers(bench, toolsCall))]
    const all = await inTurn(rounds, [
      ...servers.map((server) => () => load.throughput(server, always(toolsCall))),
      () => load.throughput(gateway, always(plainCall)),
      () => load.throughput(floor, always(plainCall))
    ])
    const cpu = (index: number): ReadonlyArray<number> => (all[index] ?? []).map(({ cpuMicros }) => cpuMicros)
    return [
      ...beside("tools", servers, all.slice(0, servers.length)),
      {
        scenario: "tools",
        figure: "gateway, processor time of 50 messages / of 2",
        values: ratiosOf(cpu(1), cpu(servers.length)),
        goal: { atMost: 6 }
      },
      {
        scenario: "tools",
        figure: `${floor.name}, processor time of 50 messages / of 2`,
        values: ratiosOf(cpu(0), cpu(servers.length + 1))
      }
    ]
  }
}

const sticky: BenchScenario = {
  summary: `routed requests of sessions, ${sessions.toLocaleString("en")} of them`,
  count: sessions,
  run: (bench, count) => {
    const calls = Array.from({ length: count }, (_, index) =>
      chat({ reasoning_effort: "none", session_id: `bench-${index}`, messages })
    )
    let sent = 0
    return compared("sticky", bench, [bench.floor, bench.gateway], () => calls[sent++ % calls.length] ?? plainCall)
  }
}

const latency: BenchScenario = {
  summary: `what the gateway adds to the latency at ${steadyPerSecond} requests per second`,
  run: async (bench) => {
    const { floor, gateway, load, rounds } = bench
    const streamCall = chat({ model, stream: true, messages: [{ role: "user", content: shortStreamText }] })
    const able = await ablePeers({ ...bench, peers: await ablePeers(bench, plainCall) }, streamCall)
    const servers = [floor, gateway, ...able]
    const measured = (call: BenchCall) =>
      inTurn(
        rounds,
        servers.map((server) => () => load.steady(server, always(call), steadyPerSecond))
      )
    const whole = await measured(plainCall)
    const streamed = await measured(streamCall)
    const cpu = (index: number): ReadonlyArray<number> => (whole[index] ?? []).map(({ cpuMicros }) => cpuMicros)
    return servers.slice(1).flatMap((server, index): ReadonlyArray<Figure> => {
      const isGateway = index === 0
      const added = (all: typeof whole, of: "p50" | "p99" | "firstP50"): ReadonlyArray<number> =>
        differencesOf(
          (all[index + 1] ?? []).map((one) => one[of]),
          (all[0] ?? []).map((one) => one[of])
        )
      const figure = (name: string, values: ReadonlyArray<number>, atMost: number): Figure => ({
        scenario: "latency",
        figure: `${server.name}, added ${name} ms`,
        values,
        ...(isGateway && { goal: { atMost } })
      })
      return [
        figure("p50", added(whole, "p50"), 1),
        figure("p99", added(whole, "p99"), 5),
        figure("p50 to the first byte of a stream", added(streamed, "firstP50"), 2),
        {
          scenario: "latency",
          figure: `${server.name} / ${floor.name}, processor time`,
          values: ratiosOf(cpu(index + 1), cpu(0))
        }
      ]
    })
  }
}

export const chatScenarios = { plain, auto, stream, latency, tools: toolsScenario, sticky } as const
