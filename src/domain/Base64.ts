/** Recognises base64, so that bytes which no provider could decode are refused before anything is paid for. */

const outsideAlphabet = /[^A-Za-z0-9+/]/

/**
 * True for at least one byte in base64, with or without padding. Only one character at a time is matched, because a
 * pattern for the whole would need a stack as deep as a recording is long.
 */
export const isBase64 = (text: string): boolean => {
  const end = text.search(outsideAlphabet)
  if (end === -1) return text.length > 1 && text.length % 4 !== 1
  return end > 1 && text.length % 4 === 0 && ["=", "=="].includes(text.slice(end, end + 3))
}
