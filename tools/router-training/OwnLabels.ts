/**
 * Our own labels of public prompts, by the ids of the public data sets. The files hold labels only, not the prompts;
 * `README.md` describes how they were made.
 */
import { Schema } from "effect"

import arenaHardCategories from "./arena-hard-categories.json" with { type: "json" }
import gsm8kDifficulty from "./gsm8k-difficulty.json" with { type: "json" }

/** Ids by category. An id is its first six hexadecimal digits in Arena-Hard v0.1. */
const ArenaHardCategories = Schema.Record(
  Schema.String,
  Schema.Array(Schema.String.check(Schema.isPattern(/^[0-9a-f]{6}$/)))
)

const arenaHardPrefix = "ah01/"
const arenaHardDigits = 6

const categoryById = new Map(
  Object.entries(Schema.decodeUnknownSync(ArenaHardCategories)(arenaHardCategories)).flatMap(([category, ids]) =>
    ids.map((id) => [arenaHardPrefix + id, category] as const)
  )
)

/**
 * The category of a prompt of Arena-Hard v0.1; `undefined` for any other row, and for prompts of several categories.
 */
export const arenaHardCategoryOf = (id: string): string | undefined =>
  categoryById.get(id.slice(0, arenaHardPrefix.length + arenaHardDigits))

/** One digit per problem, in the order of GSM8K's training part, a hundred in a string. */
const Gsm8kDifficulty = Schema.Array(Schema.String.check(Schema.isPattern(/^[1-9]{100}$/)))

const gsm8kPrefix = "gsm8k-train/"
const gsm8kDigits = Schema.decodeUnknownSync(Gsm8kDifficulty)(gsm8kDifficulty).join("")

/** The difficulty of a problem of GSM8K's training part, from 1 to 9; `undefined` for any other row. */
export const gsm8kDifficultyOf = (id: string): number | undefined => {
  if (!id.startsWith(gsm8kPrefix)) return undefined
  const digit = gsm8kDigits[Number(id.slice(gsm8kPrefix.length))]
  return digit === undefined ? undefined : Number(digit)
}
