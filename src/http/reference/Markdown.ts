/**
 * The part of Markdown that descriptions in the API's definition use: paragraphs, headings of the second level, lists,
 * code and links. Everything else stays as it is written.
 */
import { html, type Markup } from "./Markup.ts"

const inlinePattern = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*/g

/** Only links within the page, to a path or to the web; a link cannot run a script. */
const isLink = (address: string): boolean => /^(?:#|\/|\.|https?:\/\/)/.test(address)

/** One line of text. */
export const inlineMarkdown = (text: string): Markup => {
  const pieces: Array<Markup | string> = []
  let end = 0
  for (const match of text.matchAll(inlinePattern)) {
    const [whole, code, label, address = "", strong] = match
    pieces.push(text.slice(end, match.index))
    if (code !== undefined) pieces.push(html`<code>${code}</code>`)
    else if (strong !== undefined) pieces.push(html`<strong>${strong}</strong>`)
    else pieces.push(isLink(address) ? html`<a href="${address}">${label}</a>` : whole)
    end = match.index + whole.length
  }
  pieces.push(text.slice(end))
  return html`${pieces}`
}

/** The name of a heading in the address of the page. */
export const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")

const block = (text: string): Markup => {
  if (text.startsWith("## ")) {
    const heading = text.slice(3)
    return html`<h2 id="${anchorOf(heading)}">${inlineMarkdown(heading)}</h2>`
  }
  if (text.startsWith("- ")) {
    const items = text.slice(2).split(/\n- /)
    return html`<ul>
      ${items.map((item) => html`<li>${inlineMarkdown(item.replaceAll(/\n\s*/g, " "))}</li>`)}
    </ul>`
  }
  return html`<p>${inlineMarkdown(text.replaceAll("\n", " "))}</p>`
}

export const markdown = (text: string): Markup =>
  html`${text
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map(block)}`

/** The headings of the second level, in order. */
export const headingsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => heading)
