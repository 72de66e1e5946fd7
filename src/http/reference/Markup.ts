/** HTML that is known to be safe, as a type of its own: text joins it only with its special characters escaped. */

/** A piece of HTML. */
export interface Markup {
  readonly markup: string
}

type Piece = Markup | string | number | undefined | false | ReadonlyArray<Piece>

const escapes: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Text for the inside of an element or of a quoted attribute. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? "")

const textOf = (piece: Piece): string => {
  if (piece === undefined || piece === false) return ""
  if (typeof piece === "string" || typeof piece === "number") return escapeHtml(String(piece))
  return "markup" in piece ? piece.markup : piece.map(textOf).join("")
}

/**
 * A template of HTML. What is put into it is escaped, unless it is HTML itself. The indentation of the template is left
 * out, that of what is put into it is kept.
 */
export const html = (strings: TemplateStringsArray, ...pieces: ReadonlyArray<Piece>): Markup => ({
  markup: strings.map((text, index) => text.replaceAll(/\n +/g, "\n") + textOf(pieces[index])).join("")
})
