#!/usr/bin/env node
/**
 * `node tools/capability-profiles/derive.ts FIGURES` derives the profiles of the shipped catalog from a directory of
 * published figures and writes them to `catalog.json`; `npx oxfmt src/catalog/catalog.json` then formats the file.
 *
 * It is run by hand when the figures or `models.json` have changed. Nothing else in the catalog changes, and the same
 * figures give the same file. `Figures.ts` names the files of figures, and `README.md` describes them.
 */
import { fileURLToPath } from "node:url"

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Data, Effect, FileSystem, Option, Path } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import type { CatalogFile, ModelEntry } from "../../src/catalog/CatalogFile.ts"
import { profileFieldsOf } from "./CatalogProfile.ts"
import { type Figures, figuresOf, sourceNames, sources } from "./Figures.ts"
import models from "./models.json" with { type: "json" }
import { type DerivedProfiles, deriveProfiles, faultsOf, tiers } from "./ProfileDerivation.ts"

class DerivationError extends Data.TaggedError("DerivationError")<{ readonly message: string }> {}

const readFigures = Effect.fn("readFigures")(function* (directory: string) {
  const [files, path] = [yield* FileSystem.FileSystem, yield* Path.Path]
  const entries = yield* Effect.forEach(sourceNames, (name) =>
    Effect.map(
      files.readFileString(path.join(directory, sources[name].file)),
      (text) => [name, figuresOf(sources[name], text)] as const
    )
  )
  // The type of `fromEntries` loses the keys, which are exactly the names of the sources.
  return Object.fromEntries(entries) as unknown as Figures
})

/** The entry with its profiles replaced, or unchanged if the model is not in `models.json`. */
const withProfiles = (derived: ReadonlyMap<string, DerivedProfiles>, entry: ModelEntry): ModelEntry => {
  const profiles = derived.get(entry.id)
  if (profiles === undefined) return entry
  const support = entry.reasoning?.support ?? "none"
  const served = tiers.filter((tier) => support === "optional" || (tier === "none") === (support === "none"))
  return { ...entry, ...profileFieldsOf(profiles, served) }
}

/** Puts each source and each estimate on one line. */
const textOf = (catalog: CatalogFile): string =>
  JSON.stringify(catalog, null, 2).replace(/\{\s+"(?:name|tiers)": [^{}]*?\}/g, (entry) => entry.replace(/\s+/g, " "))

const catalogPath = fileURLToPath(new URL("../../src/catalog/catalog.json", import.meta.url))

const command = Command.make(
  "derive",
  {
    figures: Argument.Directory("figures").pipe(Argument.withDescription("The directory of published figures.")),
    print: Flag.String("print").pipe(
      Flag.withMetavar("MODEL"),
      Flag.withDescription("Print the profiles of one model of models.json, and write nothing."),
      Flag.optional
    )
  },
  Effect.fn(function* ({ figures: directory, print }) {
    const files = yield* FileSystem.FileSystem
    const figures = yield* readFigures(directory)
    const faults = faultsOf(models, figures)
    if (faults.length > 0) return yield* new DerivationError({ message: faults.join("\n") })
    const derived = deriveProfiles(models, figures)
    if (Option.isSome(print)) {
      const profiles = derived.get(print.value)
      if (profiles === undefined) return yield* new DerivationError({ message: `no model is called ${print.value}` })
      return yield* Console.log(JSON.stringify(profileFieldsOf(profiles, tiers), null, 2))
    }
    // The test suite validates the shipped file, and everything but its profiles is written back as it was.
    const catalog = JSON.parse(yield* files.readFileString(catalogPath)) as CatalogFile
    const entries = (catalog.models ?? []).map((entry) => withProfiles(derived, entry))
    yield* files.writeFileString(catalogPath, `${textOf({ ...catalog, models: entries })}\n`)
    yield* Console.log(`profiles of ${entries.filter(({ id }) => derived.has(id)).length} models`)
  })
)

NodeRuntime.runMain(Command.run(command, { version: "1" }).pipe(Effect.provide(NodeServices.layer)))
