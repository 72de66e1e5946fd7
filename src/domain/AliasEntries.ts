/**
 * Names that an organization gives to models, as operators write them:
 *
 *     { "fast": "gpt-5-mini", "smart": "auto" }
 */
import { Schema } from "effect"

/** Stands for the choice of the gateway, in place of the id of a model. */
export const automaticModel = "auto"

const maxAliases = 100

const AliasName = Schema.String.check(
  Schema.isPattern(/^\S{1,128}$/, { expected: "a name of at most 128 characters, without spaces" })
)

/** Names are checked on the whole record, because a schema of its keys would silently drop those that do not match. */
export const AliasEntries = Schema.Record(Schema.String, AliasName)
  .check(
    Schema.isMaxProperties(maxAliases),
    Schema.isPropertyNames(AliasName, { message: "Expected names of at most 128 characters, without spaces" })
  )
  .annotate({ description: "Ids of models by further names; `auto` lets the gateway choose." })
export type AliasEntries = typeof AliasEntries.Type
