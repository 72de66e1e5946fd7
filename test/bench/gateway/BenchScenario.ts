/** What scenarios are given and what they give back. */
import type { Figure } from "./BenchFigures.ts"
import type { BenchLoad, BenchServer } from "./BenchLoad.ts"

/** A gateway that a scenario has started. */
export interface StartedGateway extends BenchServer {
  /** Ends it before the end of the run. */
  readonly stop: () => Promise<void>
}

export interface Bench {
  /** On PostgreSQL, with one organization and one key. */
  readonly gateway: BenchServer
  readonly floor: BenchServer
  /** The peers that were named and are installed. */
  readonly peers: ReadonlyArray<BenchServer>
  readonly load: BenchLoad
  /** How often each scenario alternates. */
  readonly rounds: number
  /** A directory of this run. */
  readonly directory: string
  /** The URL of the PostgreSQL that `gateway` works on. */
  readonly database: string
  /** Another gateway that talks to the provider of the bench, with the same key and credit as the first. */
  readonly startGateway: (
    name: string,
    environment: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>
  ) => Promise<StartedGateway>
  /** The URL of another PostgreSQL with an empty database, until the end of the run. */
  readonly startPostgres: (name: string) => Promise<string>
}

export interface BenchScenario {
  /** For the usage. */
  readonly summary: string
  /** What the number after its name is if there is none; `undefined` for a scenario that counts nothing. */
  readonly count?: number
  readonly run: (bench: Bench, count: number) => Promise<ReadonlyArray<Figure>>
}

/** Measures the contestants in turn, `rounds` times; each round begins with another one. */
export const inTurn = async <A>(
  rounds: number,
  contestants: ReadonlyArray<() => Promise<A>>
): Promise<ReadonlyArray<ReadonlyArray<A>>> => {
  const values = contestants.map((): Array<A> => [])
  for (let round = 0; round < rounds; round++) {
    for (let offset = 0; offset < contestants.length; offset++) {
      const index = (round + offset) % contestants.length
      const value = await contestants[index]?.()
      if (value !== undefined) values[index]?.push(value)
    }
  }
  return values
}
