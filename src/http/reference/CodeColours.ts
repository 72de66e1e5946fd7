/** Code with strings, numbers, words of the language and options marked, so that the style sheet can colour them. */
import { html, type Markup } from "./Markup.ts"

const words = "true|false|null|True|False|None|import|from|const|await|new|for|of|in|open|curl|print"

const token = new RegExp(
  [
    /(?<string>"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)(?<colon>\s*:(?!:))?/.source,
    `(?<word>\\b(?:${words})\\b)`,
    /(?<number>(?<![\w.-])-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?\b)/.source,
    /(?<option>(?<=\s)-[A-Za-z]\b)/.source
  ].join("|"),
  "g"
)

/** HTML of the code, for the inside of a `pre`. */
export const coloured = (code: string): Markup => {
  const pieces: Array<Markup | string> = []
  let end = 0
  for (const match of code.matchAll(token)) {
    const { colon, number, option, string, word } = match.groups ?? {}
    pieces.push(code.slice(end, match.index))
    if (string !== undefined && colon !== undefined) pieces.push(html`<span class="t-k">${string}</span>${colon}`)
    else if (string !== undefined) pieces.push(html`<span class="t-s">${string}</span>`)
    else if (number !== undefined) pieces.push(html`<span class="t-n">${number}</span>`)
    else pieces.push(html`<span class="t-w">${word ?? option}</span>`)
    end = match.index + match[0].length
  }
  pieces.push(code.slice(end))
  return html`${pieces}`
}
