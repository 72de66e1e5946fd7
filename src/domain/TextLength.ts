/**
 * Lengths of text as people count them: in code points, so that an emoji is one character. JavaScript's own length
 * counts UTF-16 code units, of which an emoji has two.
 */

/** True for text of at most `max` characters. Takes time in proportion to `max`, however long the text is. */
export const hasAtMostCharacters = (text: string, max: number): boolean => {
  if (text.length <= max) return true
  if (text.length > 2 * max) return false
  let characters = 0
  for (const _ of text) characters++
  return characters <= max
}
