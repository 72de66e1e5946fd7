/** The help of every command, as somebody reads it who is new to them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { tollgateInProcess } from "./Tollgate.ts"

interface Listed {
  readonly names: ReadonlyArray<string>
  readonly description: string
}

/** What a section of help lists. */
const listedIn = (help: string, section: string): ReadonlyArray<Listed> => {
  const lines = help.split("\n")
  const start = lines.findIndex((line) => line.trim() === section)
  if (start === -1) return []
  const end = lines.findIndex((line, index) => index > start && line.trim() === "")
  return lines.slice(start + 1, end === -1 ? undefined : end).map((line) => {
    const [, names = "", description = ""] = /^ {2}(\S.*?)(?: {2,}(.*))?$/.exec(line) ?? []
    return { names: names.split(", "), description: description.trim() }
  })
}

/** The help of a command and of all below it, by their words. */
const helpOf = (words: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<readonly [string, string]>> =>
  Effect.gen(function* () {
    const { code, err, out } = yield* tollgateInProcess({}, [...words, "--help"])
    assert.deepStrictEqual([code, err], [0, ""], words.join(" "))
    const below = yield* Effect.forEach(listedIn(out, "SUBCOMMANDS"), ({ names }) => helpOf([...words, names[0] ?? ""]))
    return [[words.join(" "), out], ...below.flat()]
  })

/** Commands that print what programs read anyway, or nothing but a sentence. */
const withoutJson = ["route rank", "usage rebuild"]

describe("The help of tollgate", () => {
  it.live("lists commands in lines that fit, with a sentence for each command and each flag", () =>
    Effect.gen(function* () {
      const all = yield* helpOf([])
      assert.isAbove(all.length, 60)
      for (const [words, help] of all) {
        const commands = listedIn(help, "SUBCOMMANDS")
        const flags = [...listedIn(help, "FLAGS"), ...listedIn(help, "INHERITED FLAGS"), ...listedIn(help, "ARGUMENTS")]
        for (const { description, names } of [...commands, ...flags])
          assert.match(description, /^[A-Z].*\.( \(choices: .*\))?$/, `${words} ${names.join(", ")}`)
        for (const { description } of commands) assert.isAtMost(description.length, 100, `${words}: ${description}`)
        if (commands.length === 0 && !withoutJson.includes(words)) assert.include(help, " --json ", words)
      }
    })
  )

  it.live("takes the name of a command that it has elsewhere: get or show, delete or remove", () =>
    Effect.gen(function* () {
      const all = new Map(yield* helpOf([]))
      for (const group of ["org", "key", "webhook", "budget", "requests"]) {
        const names = listedIn(all.get(group) ?? "", "SUBCOMMANDS").flatMap((listed) => listed.names)
        assert.includeMembers(names, ["get", "show"], group)
      }
      for (const group of ["webhook", "budget"]) {
        const names = listedIn(all.get(group) ?? "", "SUBCOMMANDS").flatMap((listed) => listed.names)
        assert.includeMembers(names, ["delete", "remove"], group)
        assert.strictEqual((yield* tollgateInProcess({}, [group, "remove", "--help"])).code, 0)
      }
    })
  )
})
