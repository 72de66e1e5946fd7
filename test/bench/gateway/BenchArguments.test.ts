import { describe, expect, it } from "vitest"

import { readArguments } from "./BenchArguments.ts"

const vocabulary = { scenarios: ["plain", "slow", "memory"], defaults: ["plain"], peers: ["portkey", "litellm"] }
const read = (...words: ReadonlyArray<string>) => readArguments(words, vocabulary)

describe("readArguments", () => {
  it("takes the defaults where no scenario is named", () => {
    expect(read()).toEqual({ scenarios: [{ name: "plain" }], peers: [] })
    expect(read("portkey", "portkey")).toEqual({ scenarios: [{ name: "plain" }], peers: ["portkey"] })
  })

  it("keeps the order of the scenarios, and gives a number to the one before it", () => {
    expect(read("memory", "200_000", "litellm", "slow", "plain")).toEqual({
      scenarios: [{ name: "memory", count: 200_000 }, { name: "slow" }, { name: "plain" }],
      peers: ["litellm"]
    })
  })

  it("knows all of them", () => {
    expect(read("all")).toEqual({ scenarios: [{ name: "plain" }, { name: "slow" }, { name: "memory" }], peers: [] })
  })

  it.each([
    [["fast"], 'There is no scenario or peer "fast".'],
    [["slow", "-1"], 'There is no scenario or peer "-1".'],
    [["5", "slow"], "The number 5 follows no scenario, or is zero."],
    [["slow", "portkey", "5"], "The number 5 follows no scenario, or is zero."],
    [["slow", "5", "6"], "The number 6 follows no scenario, or is zero."],
    [["all", "5"], "The number 5 follows no scenario, or is zero."],
    [["slow", "0"], "The number 0 follows no scenario, or is zero."]
  ])("refuses %j", (words, fault) => expect(read(...words)).toBe(fault))
})
