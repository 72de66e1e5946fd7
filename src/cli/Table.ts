/** Tables of plain text for the terminal. */

/**
 * A heading and rows as lines with aligned columns, two spaces apart. Columns listed in `right`, by index, are aligned
 * to the right, as numbers are. No line has trailing spaces.
 */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  right: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return right.includes(column) ? cell.padStart(width) : cell.padEnd(width)
      })
      .join("  ")
      .trimEnd()
  )
}
