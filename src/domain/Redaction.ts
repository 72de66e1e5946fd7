/** Takes out of a text what looks like a key, for messages that a client or an operator gets to read. */

const secrets =
  /\b(?:Bearer\s+\S{8,}|(?:sk|pk|rk|gsk|xai|hf|csk|fw|tgp|tg)[-_][\w*-]{6,}|AIza[\w-]{20,}|[A-Za-z0-9]{32,})/g

/** The text with `[redacted]` in the place of everything that looks like a key. */
export const withoutSecrets = (text: string): string => text.replaceAll(secrets, "[redacted]")
