/** The texts of an output item, and the members in which they stand. */
import { asArray, asObject, asText, type Fields } from "../shared/Field.ts"

export type TextKind = "text" | "refusal" | "summary" | "reasoning" | "arguments"

/** A piece of a text, or the whole of it. */
export interface TextUpdate {
  readonly kind: TextKind
  /** The number of the text among those of its kind in the item. */
  readonly part: number
  readonly text: string
  readonly isWhole: boolean
}

/** The texts that the parts of an item hold, by the type of the part. */
const partTypes: ReadonlyMap<unknown, { readonly kind: TextKind; readonly member: string }> = new Map([
  ["output_text", { kind: "text", member: "text" }],
  ["refusal", { kind: "refusal", member: "refusal" }],
  ["summary_text", { kind: "summary", member: "text" }],
  ["reasoning_text", { kind: "reasoning", member: "text" }]
])

/** All texts of a complete item. */
export const textsIn = (fields: Fields): ReadonlyArray<TextUpdate> => {
  const parts = ["summary", "content"].flatMap((list) =>
    asArray(fields[list]).flatMap((entry, part): ReadonlyArray<TextUpdate> => {
      const content = asObject(entry)
      const type = partTypes.get(content?.["type"])
      const text = type && asText(content?.[type.member])
      return type === undefined || text === undefined ? [] : [{ kind: type.kind, part, text, isWhole: true }]
    })
  )
  const written = asText(fields["arguments"])
  return written === undefined ? parts : [...parts, { kind: "arguments", part: 0, text: written, isWhole: true }]
}
