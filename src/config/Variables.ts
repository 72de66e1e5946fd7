/** Documented environment variables, and the error of a malformed one. */
import { type Config, Data } from "effect"

/** The documentation of one environment variable. */
export interface Variable {
  readonly name: string
  /** The default as the documentation prints it. */
  readonly default: string
  readonly meaning: string
}

const documented: Array<Variable> = []

/** The variables that have been declared so far, in order. */
export const declaredVariables: ReadonlyArray<Variable> = documented

/** Adds a variable to the list of documented ones. */
export const variable = <A>(documentation: Variable, config: Config.Config<A>): Config.Config<A> => {
  documented.push(documentation)
  return config
}

/** A malformed variable, in one line that says what to do. It never has the value, which may be a secret. */
export class SettingsError extends Data.TaggedError("SettingsError")<{ readonly message: string }> {}

/** `SchemaError(Expected … at ["PORT"])` */
const issueText = /^(?:SchemaError\()?(.*?) at \["([A-Z0-9_]+)"\]\)?$/s

/** The error of a variable that could not be read, with what was expected of it. */
export const explained = ({ message }: Config.ConfigError): SettingsError => {
  const [, issue = "", name] = issueText.exec(message) ?? []
  const known = documented.find((entry) => entry.name === name)
  if (name === undefined || known === undefined) return new SettingsError({ message })
  return new SettingsError({
    message: `${name}: ${issue.trim()}. Set it so, or unset it for the default: ${known.default}`
  })
}
