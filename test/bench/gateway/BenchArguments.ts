/** The words of `npm run bench -- gateway`: scenarios and the peers beside them, a number after those it applies to. */

export interface ChosenScenario {
  readonly name: string
  /** What the scenario counts: streams, requests or organizations. */
  readonly count?: number
}

export interface BenchArguments {
  readonly scenarios: ReadonlyArray<ChosenScenario>
  readonly peers: ReadonlyArray<string>
}

export interface BenchVocabulary {
  readonly scenarios: ReadonlyArray<string>
  /** The scenarios of a call that names none. */
  readonly defaults: ReadonlyArray<string>
  readonly peers: ReadonlyArray<string>
}

/** The arguments, or a sentence that says which of the words has no meaning. */
export const readArguments = (
  words: ReadonlyArray<string>,
  { defaults, peers, scenarios }: BenchVocabulary
): BenchArguments | string => {
  const chosen: Array<ChosenScenario> = []
  const beside: Array<string> = []
  for (const [index, word] of words.entries()) {
    const before = chosen.at(-1)
    if (/^[\d_]+$/.test(word)) {
      const count = Number(word.replaceAll("_", ""))
      if (before === undefined || before.name !== words[index - 1] || count === 0)
        return `The number ${word} follows no scenario, or is zero.`
      chosen[chosen.length - 1] = { name: before.name, count }
    } else if (peers.includes(word)) beside.push(word)
    else if (word === "all") chosen.push(...scenarios.map((name) => ({ name })))
    else if (scenarios.includes(word)) chosen.push({ name: word })
    else return `There is no scenario or peer "${word}".`
  }
  return { scenarios: chosen.length === 0 ? defaults.map((name) => ({ name })) : chosen, peers: [...new Set(beside)] }
}
