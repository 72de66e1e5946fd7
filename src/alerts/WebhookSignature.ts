/**
 * Signatures as the specification Standard Webhooks has them: HMAC-SHA256 over the id, the time and the body. While a
 * secret is being replaced there is one signature for each, so that receivers can change theirs at any time.
 */
import { createHmac } from "node:crypto"

import { Effect, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Base64 } from "effect/encoding"

const prefix = "whsec_"
/** The specification wants 24 to 64. */
const secretBytes = 32

/** A new secret: `whsec_` and base64. */
export const newWebhookSecret: Effect.Effect<Redacted.Redacted, never, SecureRandom.SecureRandom> = Effect.flatMap(
  SecureRandom.SecureRandom,
  (random) => Effect.map(random.randomBytes(secretBytes), (bytes) => Redacted.make(`${prefix}${Base64.encode(bytes)}`))
)

export interface WebhookMessage {
  /** The same for every attempt, so that a receiver can tell a repeat. */
  readonly id: string
  readonly sentAtMillis: number
  readonly body: string
}

/** The headers that prove where a message comes from. `secrets` are those that are valid now. */
export const signatureHeaders = (
  { body, id, sentAtMillis }: WebhookMessage,
  secrets: ReadonlyArray<Redacted.Redacted>
) => {
  const seconds = Math.floor(sentAtMillis / 1_000)
  const signed = `${id}.${seconds}.${body}`
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(Redacted.value(secret).slice(prefix.length), "base64")
    return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`
  })
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" ")
  }
}
