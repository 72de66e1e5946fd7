/**
 * Names of Anthropic's models that its clients send and that no catalog lists any more, or never did. Claude Code asks
 * for some of them by itself, for small tasks beside the model that was chosen. Each stands for the next model of its
 * family; the answer names the model that gave it, and the charge is that model's.
 */

interface Successor {
  readonly pattern: RegExp
  readonly model: string
}

/** The date or the word that a name may end with. */
const snapshot = "(?:-20\\d{6}|-latest)?"

const successor = (names: string, model: string): Successor => ({
  pattern: new RegExp(`^(?:anthropic/)?(?:${names})${snapshot}$`),
  model
})

export const claudeSuccessors: ReadonlyArray<Successor> = [
  successor("claude-3-haiku|claude-3[-.]5-haiku|claude-haiku-4[-.]5", "claude-haiku-4-5"),
  successor("claude-3-sonnet|claude-3[-.][57]-sonnet|claude-sonnet-4|claude-sonnet-4[-.][05]", "claude-sonnet-4-5"),
  successor("claude-3-opus|claude-opus-4|claude-opus-4[-.][015]", "claude-opus-4-5"),
  successor("claude-fable-5", "claude-fable-5-1")
]

/** Claude Code marks a long context so; whether a prompt fits is up to the model. */
const contextMark = /\[[12]m\]$/i

/** Longer names are not looked at. */
const maxNameLength = 128

/**
 * The name to look up for a name that a client sent. `isKnown`: whether the catalog knows a name by itself, which comes
 * first.
 */
export const claudeModelName = (name: string, isKnown: (name: string) => boolean): string => {
  if (name.length > maxNameLength || isKnown(name)) return name
  const unmarked = name.replace(contextMark, "")
  if (isKnown(unmarked)) return unmarked
  return claudeSuccessors.find(({ pattern }) => pattern.test(unmarked))?.model ?? name
}
