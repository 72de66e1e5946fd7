#!/usr/bin/env node
/**
 * `node tools/capability-profiles/derive.ts FIGURES`: derives the profiles of the shipped catalog from a directory of
 * published figures, and writes them into `catalog.json`; `npx oxfmt src/catalog/catalog.json` then lays the file out.
 *
 * Run by hand when figures or subjects have changed. Everything else in the catalog stays as it is, and the same
 * figures write the same file. The files of figures are named in `Figures.ts` and described in
 * `README.md` beside it.
 */
import { fileURLToPath } from "node:url"

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Data, Effect, FileSystem, Option, Path } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import type { CatalogFile, ModelEntry } from "../../src/catalog/CatalogFile.ts"
import { type Cells, derive, faultsOf, tiers } from "./Derivation.ts"
import { type Figures, figuresOf, formats } from "./Figures.ts"
import { fieldsOf } from "./Provenance.ts"
import subjects from "./subjects.json" with { type: "json" }

class Unfit extends Data.TaggedError("Unfit")<{ readonly message: string }> {}

const readFigures = Effect.fn("readFigures")(function* (directory: string) {
  const [files, path] = [yield* FileSystem.FileSystem, yield* Path.Path]
  const read = ([source, format]: [string, (typeof formats)[keyof typeof formats]]) =>
    Effect.map(
      files.readFileString(path.join(directory, format.file)),
      (text) => [source, figuresOf(format, text)] as const
    )
  // `fromEntries` forgets its keys; they are exactly the sources.
  return Object.fromEntries(yield* Effect.forEach(Object.entries(formats), read)) as unknown as Figures
})

/** The entry with its profiles replaced; one that no subject is about, as it is. */
const withProfiles = (cells: ReadonlyMap<string, Cells>, entry: ModelEntry): ModelEntry => {
  const found = cells.get(entry.id)
  if (found === undefined) return entry
  const support = entry.reasoning?.support ?? "none"
  const served = tiers.filter((tier) => support === "optional" || (tier === "none") === (support === "none"))
  return { ...entry, ...fieldsOf(found, served) }
}

/** One line for each source and for each estimate. */
const textOf = (catalog: CatalogFile): string =>
  JSON.stringify(catalog, null, 2).replace(/\{\s+"(?:name|tiers)": [^{}]*?\}/g, (entry) => entry.replace(/\s+/g, " "))

const catalogPath = fileURLToPath(new URL("../../src/catalog/catalog.json", import.meta.url))

const command = Command.make(
  "derive",
  {
    figures: Argument.Directory("figures").pipe(Argument.withDescription("The directory of published figures.")),
    print: Flag.String("print").pipe(
      Flag.withDescription("Print the profiles of one subject, in the catalog or not, and write nothing."),
      Flag.optional
    )
  },
  Effect.fn(function* ({ figures: directory, print }) {
    const files = yield* FileSystem.FileSystem
    const figures = yield* readFigures(directory)
    const faults = faultsOf(subjects, figures)
    if (faults.length > 0) return yield* new Unfit({ message: faults.join("\n") })
    const cells = derive(subjects, figures)
    if (Option.isSome(print)) {
      const found = cells.get(print.value)
      if (found === undefined) return yield* new Unfit({ message: `no subject is called ${print.value}` })
      return yield* Console.log(JSON.stringify(fieldsOf(found, tiers), null, 2))
    }
    // The shipped file is checked by the suite, and is written back whole but for its profiles.
    const catalog = JSON.parse(yield* files.readFileString(catalogPath)) as CatalogFile
    const models = (catalog.models ?? []).map((entry) => withProfiles(cells, entry))
    yield* files.writeFileString(catalogPath, `${textOf({ ...catalog, models })}\n`)
    yield* Console.log(`profiles of ${models.filter(({ id }) => cells.has(id)).length} models`)
  })
)

NodeRuntime.runMain(Command.run(command, { version: "1" }).pipe(Effect.provide(NodeServices.layer)))
