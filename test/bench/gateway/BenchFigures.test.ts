import { describe, expect, it } from "vitest"

import { differencesOf, isReached, lineThrough, medianOf, ratiosOf, rowOf, summaryOf } from "./BenchFigures.ts"

describe("medianOf", () => {
  it.each([
    [[3, 1, 2], 2],
    [[10, 9, 1, 2], 5.5],
    [[7], 7],
    [[], Number.NaN]
  ])("of %j is %d", (values, median) => expect(medianOf(values)).toBe(median))
})

describe("summaryOf", () => {
  it("has the least and the most", () => expect(summaryOf([5, 100, -1])).toEqual({ median: 5, least: -1, most: 100 }))
})

describe("ratiosOf and differencesOf", () => {
  it("compare values of the same round", () => {
    expect(ratiosOf([4, 9], [2, 3])).toEqual([2, 3])
    expect(differencesOf([4, 9], [2, 3])).toEqual([2, 6])
  })

  it("know nothing of a round that lacks its other half", () => {
    expect(ratiosOf([4, 9], [2])).toEqual([2, Number.NaN])
  })
})

describe("lineThrough", () => {
  it("finds a line that is one", () => {
    const { noise, slope } = lineThrough([1, 2, 3, 10].map((x) => [x, 5 + 2 * x]))
    expect(slope).toBeCloseTo(2)
    expect(noise).toBeCloseTo(0)
  })

  it("sees no growth in values that go up and down, and how far they do", () => {
    const { noise, slope } = lineThrough(Array.from({ length: 400 }, (_, x) => [x, x % 2 === 0 ? 103 : 97]))
    expect(slope).toBeCloseTo(0, 3)
    expect(noise).toBeCloseTo(3, 1)
  })

  it("knows nothing of two points", () =>
    expect(
      lineThrough([
        [1, 1],
        [2, 2]
      ]).slope
    ).toBeNaN())
})

describe("isReached", () => {
  it.each([
    [2.5, { atMost: 2.5 }, true],
    [2.51, { atMost: 2.5 }, false],
    [0.4, { atLeast: 0.4 }, true],
    [0.39, { atLeast: 0.4 }, false],
    [Number.NaN, { atMost: 1 }, false]
  ])("%d with %j: %s", (median, goal, reached) => expect(isReached(median, goal)).toBe(reached))
})

describe("rowOf", () => {
  it("writes the median, the spread and whether the goal is reached", () => {
    const row = rowOf({ scenario: "plain", figure: "ratio", values: [0.5, 0.3, 0.4126], goal: { atLeast: 0.4 } })
    expect(row).toEqual({
      scenario: "plain",
      figure: "ratio",
      median: "0.41",
      "from … to": "0.30 … 0.50",
      goal: "reached: at least 0.4"
    })
  })

  it("writes no spread of one value, and says so where nothing is known", () => {
    expect(rowOf({ scenario: "slow", figure: "KB", values: [1234.5] })).toMatchObject({
      median: "1235",
      "from … to": "",
      goal: ""
    })
    expect(rowOf({ scenario: "slow", figure: "KB", values: [Number.NaN], goal: { atMost: 1 } })).toMatchObject({
      median: "unknown",
      goal: "missed: at most 1"
    })
  })
})
