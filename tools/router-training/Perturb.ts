/**
 * The same request as somebody else would have typed it: with typing errors, another wrapper around it, or its options
 * set out another way. What is asked stays the same, so the demand should too. Training and evaluation use different
 * wrappers, or the evaluation would measure memory.
 */
import type { Dice } from "./Dice.ts"
import type { Wrappers } from "./Wrappers.ts"

const neighbours: Readonly<Record<string, string>> = {
  a: "sq",
  b: "vn",
  c: "xv",
  d: "sf",
  e: "wr",
  f: "dg",
  g: "fh",
  h: "gj",
  i: "uo",
  j: "hk",
  k: "jl",
  l: "k",
  m: "n",
  n: "bm",
  o: "ip",
  p: "o",
  r: "et",
  s: "ad",
  t: "ry",
  u: "yi",
  v: "cb",
  w: "qe",
  y: "tu"
}

/** About `share` of the letters are typed wrongly: left out, doubled, swapped with the next, or the key beside. */
export const typos = (text: string, share: number, { below, chance, roll }: Dice): string => {
  let typed = ""
  for (let index = 0; index < text.length; index++) {
    const letter = text.charAt(index)
    const beside = neighbours[letter]
    if (beside === undefined || !chance(share)) {
      typed += letter
      continue
    }
    const kind = roll()
    if (kind < 0.25) continue
    if (kind < 0.5) typed += letter + letter
    else if (kind < 0.75 && index + 1 < text.length) typed += text.charAt(++index) + letter
    else typed += beside.charAt(below(beside.length))
  }
  return typed
}

export const wrapped = (text: string, { asks, ends, greets }: Wrappers, { chance, pick }: Dice): string => {
  const gap = chance(0.5) ? "\n\n" : chance(0.5) ? "\n" : " "
  const greeting = chance(0.3) ? `${pick(greets)} ` : ""
  const asking = chance(0.8) ? `${pick(asks)}${gap}` : ""
  const ending = chance(0.6) ? `${gap}${pick(ends)}` : ""
  return greeting + asking + text + ending
}

const optionMarks = ["A. ", "A) ", "(A) ", "[A] ", "A: "]

/** Options that stand on lines of their own get another mark, all the same one; other text stays as it is. */
export const optionsAnew = (text: string, { pick }: Dice): string => {
  const mark = pick(optionMarks)
  return text
    .split("\n")
    .map((line) => {
      const option = /^[([]?([A-J])[.):\]]\s?(.*)$/.exec(line)
      return option === null ? line : mark.replace("A", option[1] ?? "") + (option[2] ?? "")
    })
    .join("\n")
}

/** Questions of the same kind with answers, right or not, ahead of the one that is asked. */
export const withExamples = (text: string, examples: ReadonlyArray<string>, { chance, pick }: Dice): string => {
  const ask = chance(0.5) ? "Answer:" : chance(0.5) ? "A:" : ""
  const shown = examples.map((example) => {
    const answer = /^\W?A[.):\]]/m.test(example) ? pick(["A", "B", "C", "D"]) : ""
    return `${example}\n${ask} ${answer}\n\n`
  })
  return `${shown.join("")}${text}\n${ask}`
}

/** Some of the above, by chance; `text` itself about one time in six. */
export const perturbed = (text: string, wrappers: Wrappers, dice: Dice): string => {
  let changed = text
  if (dice.chance(0.5)) changed = optionsAnew(changed, dice)
  if (dice.chance(0.5)) changed = typos(changed, 0.01 + 0.03 * dice.roll(), dice)
  if (dice.chance(0.6)) changed = wrapped(changed, wrappers, dice)
  return dice.chance(0.1) ? changed.toLowerCase() : changed
}
