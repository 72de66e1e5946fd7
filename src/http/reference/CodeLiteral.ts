/** JSON values as literals of a language, broken into lines where one line would be too long to read. */

export interface LiteralStyle {
  readonly key: (name: string) => string
  readonly text: (value: string) => string
  readonly true: string
  readonly false: string
  readonly null: string
}

export const jsonStyle: LiteralStyle = {
  key: (name) => JSON.stringify(name),
  text: (value) => JSON.stringify(value),
  true: "true",
  false: "false",
  null: "null"
}

export const javaScriptStyle: LiteralStyle = {
  ...jsonStyle,
  key: (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
}

/** A string of JSON is a string of Python as well. */
export const pythonStyle: LiteralStyle = { ...jsonStyle, true: "True", false: "False", null: "None" }

/** The most columns of a line that holds an object or an array. */
const maxColumns = 60

const scalar = (value: unknown, style: LiteralStyle): string => {
  if (typeof value === "string") return style.text(value)
  if (value === null || value === undefined) return style.null
  return typeof value === "boolean" ? (value ? style.true : style.false) : String(value)
}

/**
 * The value as code whose first line begins where it is put, behind `name`, and whose other lines are indented by
 * `indent`.
 */
export const literal = (value: unknown, style: LiteralStyle, indent = "", name = ""): string => {
  if (typeof value !== "object" || value === null) return scalar(value, style)
  const isArray = Array.isArray(value)
  const [open, close] = isArray ? ["[", "]"] : ["{", "}"]
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  if (members.length === 0) return open + close
  const deeper = `${indent}  `
  const lines = members.map(([key, member]) => {
    const prefix = isArray ? "" : `${style.key(key)}: `
    return prefix + literal(member, style, deeper, prefix)
  })
  const space = isArray ? "" : " "
  const line = open + space + lines.join(", ") + space + close
  return indent.length + name.length + line.length <= maxColumns && !line.includes("\n")
    ? line
    : `${open}\n${lines.map((each) => deeper + each).join(",\n")}\n${indent}${close}`
}
