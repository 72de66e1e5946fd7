/**
 * Providers quote requests in their errors, and the log must hold nothing of a prompt. So whatever an error has in
 * common with the request is left out of its log line: what remains is what the provider itself wrote.
 */
const separators = /[^\p{L}\p{N}]+/gu
const words = /[\p{L}\p{N}]+/gu
/** A piece without white space that is longer is a file, and is masked by its length. */
const longestText = 10_000
/** Beyond this many characters a request is not searched, and nothing of the message is shown. */
const mostCharacters = 4_000_000
/** A longer word is an encoded file, a token or an id. */
const longestWord = 40
const mask = "…"

/** Words of errors. They reveal nothing, although a prompt may have them as well. */
const ordinary = new Set(
  (
    "about access account again allowed amount api available balance billing busy cannot capacity check connection " +
    "content context contact could credit credits current currently daily deactivated denied disabled does error " +
    "exceed exceeded exceeds exist exists expired failed field found free have hourly image incorrect input " +
    "insufficient internal invalid later length limit limited limits longer maximum message messages minute missing " +
    "model models month monthly moment number organization output overloaded parameter payment per permission please " +
    "plan project provided provider quota rate reached request requests required response retry second seconds " +
    "server service should such support supported temporarily terminated their there this timed timeout token tokens " +
    "too traffic type unauthorized unavailable unexpected unknown unsupported upgrade usage user valid value verify " +
    "which while with without your"
  ).split(" ")
)

/** The message with `…` in the place of every word that the content, which is any value, may have supplied. */
export const withoutQuotations = (message: string, content: unknown): string => {
  const texts: Array<string> = []
  collectTexts(content, texts)
  if (texts.reduce((sum, { length }) => sum + length, 0) > mostCharacters) return mask
  const source = texts.join(" ").replaceAll(separators, " ").toLowerCase()
  const found = Array.from(message.matchAll(words), ({ 0: word, index }) => ({ word: word.toLowerCase(), index }))
  const isQuoted = found.map(({ word }) => isQuotedAlone(word, source))
  for (const [index, { word }] of found.entries()) {
    const next = found[index + 1]?.word
    if (next !== undefined && source.includes(`${word} ${next}`)) isQuoted[index] = isQuoted[index + 1] = true
  }
  let text = ""
  let from = 0
  for (const [index, { index: start, word }] of found.entries()) {
    if (isQuoted[index] !== true) continue
    text += message.slice(from, start) + mask
    from = start + word.length
  }
  return (text + message.slice(from)).replaceAll(/…(?:[^\p{L}\p{N}]*…)+/gu, mask)
}

const isQuotedAlone = (word: string, source: string): boolean => {
  if (word.length > longestWord) return true
  if (ordinary.has(word)) return false
  if (/^[a-z]+$/.test(word)) return word.length >= 5 && source.includes(word)
  if (/^[a-z\d]+$/.test(word)) return word.length >= 3 && source.includes(word)
  // Scripts without spaces: a quotation may begin or end within what looks like one word.
  const windows = Math.max(1, word.length - 2)
  return Array.from({ length: windows }, (_, at) => word.slice(at, at + 3)).some((part) => source.includes(part))
}

const collectTexts = (value: unknown, into: Array<string>): void => {
  if (typeof value === "string") {
    if (value.length <= longestText || /\s/.test(value)) into.push(value)
  } else if (Array.isArray(value)) {
    for (const item of value) collectTexts(item, into)
  } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    for (const [name, member] of Object.entries(value)) {
      into.push(name)
      collectTexts(member, into)
    }
  }
}
