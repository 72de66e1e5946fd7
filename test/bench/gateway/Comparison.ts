/** Throughput and processor time of servers that take turns, as figures. */
import { type Figure, type Goal, ratiosOf } from "./BenchFigures.ts"
import type { BenchCall, BenchServer, NextCall, Pace, Throughput } from "./BenchLoad.ts"
import { type Bench, inTurn } from "./BenchScenario.ts"

/** The same call each time. */
export const always =
  (call: BenchCall): NextCall =>
  () =>
    call

interface Goals {
  readonly perSecond?: Goal
  readonly cpu?: Goal
}

/** Figures of the gateway and the peers beside the proxy, from rounds in which they took turns. */
export const beside = (
  scenario: string,
  [floor, ...others]: ReadonlyArray<BenchServer>,
  [ofFloor = [], ...ofOthers]: ReadonlyArray<ReadonlyArray<Throughput>>,
  goals: Goals = {}
): ReadonlyArray<Figure> => {
  const perSecond = (all: ReadonlyArray<Throughput>) => all.map((one) => one.perSecond)
  const cpu = (all: ReadonlyArray<Throughput>) => all.map((one) => one.cpuMicros)
  const [ofGateway = [], ...ofPeers] = ofOthers
  return [
    { scenario, figure: `${floor?.name}, per second`, values: perSecond(ofFloor) },
    { scenario, figure: `${floor?.name}, processor µs`, values: cpu(ofFloor) },
    ...others.flatMap((server, index): ReadonlyArray<Figure> => {
      const [all = [], isGateway] = [ofOthers[index], index === 0]
      return [
        { scenario, figure: `${server.name}, per second`, values: perSecond(all) },
        { scenario, figure: `${server.name}, processor µs`, values: cpu(all) },
        {
          scenario,
          figure: `${server.name} / ${floor?.name}, per second`,
          values: ratiosOf(perSecond(all), perSecond(ofFloor)),
          ...(isGateway && goals.perSecond !== undefined && { goal: goals.perSecond })
        },
        {
          scenario,
          figure: `${server.name} / ${floor?.name}, processor time`,
          values: ratiosOf(cpu(all), cpu(ofFloor)),
          ...(isGateway && goals.cpu !== undefined && { goal: goals.cpu })
        }
      ]
    }),
    ...ofPeers.map((all, index) => ({
      scenario,
      figure: `${others[0]?.name} / ${others[index + 1]?.name}, per second`,
      values: ratiosOf(perSecond(ofGateway), perSecond(all)),
      ...(scenario === "plain" && others[index + 1]?.name === "portkey" && { goal: { atLeast: 3 } })
    }))
  ]
}

/** The peers that can answer a request, with a line for each that cannot. */
export const ablePeers = async ({ load, peers }: Bench, call: BenchCall): Promise<ReadonlyArray<BenchServer>> => {
  const statuses = await Promise.all(peers.map((peer) => load.status(peer, call)))
  return peers.filter(({ name }, index) => {
    if (statuses[index] === 200) return true
    console.log(`  ${name} answers this with status ${statuses[index]}, so it is left out`)
    return false
  })
}

/** The servers in turn, the first of which is the one that the others are compared with. */
export const compared = async (
  scenario: string,
  { load, rounds }: Bench,
  servers: ReadonlyArray<BenchServer>,
  next: NextCall,
  { goals, pace }: { readonly goals?: Goals; readonly pace?: Partial<Pace> } = {}
): Promise<ReadonlyArray<Figure>> => {
  const contestants = servers.map((server) => () => load.throughput(server, next, pace))
  return beside(scenario, servers, await inTurn(rounds, contestants), goals)
}
