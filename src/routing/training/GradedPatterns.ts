/** Patterns of chat that are plainly easier or harder than others of their label; as in `Patterns.ts`. */
import type { Kind } from "./Patterns.ts"

export const gradedKinds: ReadonlyArray<Kind> = [
  {
    labels: ["math"],
    gain: 0.78,
    patterns: `Prove that {theorem}. Be rigorous and state every lemma.
Prove or disprove: {theorem}.
Give a rigorous proof that {theorem}, and generalise it.
Let {expression} be given. Derive its {mathObject} in closed form and prove that the result is optimal.
Determine all functions f from the reals to the reals such that {equation} for all x, y.
How many positive integers n below {number} satisfy {equation}? Justify every step.
Show that {theorem}, then count the number of such structures of order {number} up to isomorphism.
Find the exact value of {expression} under the constraint {equation}. Prove your answer.
Classify all finite groups of order {number} and prove it.
Beweise streng, dass {theorem}, und gib alle Hilfssätze an.
严格证明：{theorem}
Докажи строго, что {theorem}.`
  },
  {
    labels: ["math"],
    gain: 0.35,
    patterns: `What is {number} {operation} {number}?
{number} {operation} {number} = ?
calculate {number} {operation} {number}
{name} has {number} {things} and gets {number} more. How many are there now?
How many minutes are {number} hours?
Convert {number} km to miles.
Was ist {number} {operation} {number}?
¿Cuánto es {number} {operation} {number}?`
  },
  {
    labels: ["coding"],
    gain: 0.75,
    patterns: `Design a distributed {program} in {tech} that {does}, with fault tolerance and exactly-once semantics.
Find the race condition in this code and prove that your fix is correct: {code}
Write a compiler in {tech} for a small language with closures and garbage collection. Explain the type inference.
Implement a lock-free version of {algorithm} in {tech} and analyse its memory ordering.
Port this to {tech} with SIMD and benchmark it: {code}
Optimise {algorithm} for a graph with 10^7 edges under a memory limit. Prove the complexity. Read from standard input.`
  },
  {
    labels: ["coding"],
    gain: 0.4,
    patterns: `Write hello world in {tech}.
how do i print a list in {tech}
What does print do in {tech}?
Write a {tech} function that adds two numbers.
how to write a comment in {tech}`
  },
  {
    labels: ["knowledge"],
    gain: 0.12,
    patterns: `What is the capital of {country}?
Which language do people speak in {country}?
What currency does {country} use?
How many days are in a week?
What colour is the sky?
Who wrote Hamlet?
On which continent is {country}?
When did World War II end?
What does {topic} mean?
Was ist die Hauptstadt von {country}?
¿Cuál es la capital de {country}?`
  },
  {
    labels: ["reasoning"],
    gain: 0.75,
    patterns: `{puzzle} {puzzle} {puzzle} Find every consistent assignment and show that there is no other.
Plan the schedule of {number} workers and {number} machines so that nobody waits, and prove that it is optimal. {puzzle}
Analyse this decision with game theory: {plot}. Find all equilibria and discuss which is stable.`
  }
]
