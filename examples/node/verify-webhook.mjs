// Checks where an alert comes from, without any package. Run by itself, it checks a message that is known.
import { createHmac, timingSafeEqual } from "node:crypto"

/** The seconds by which a message may be older or newer than now: a recorded one cannot be sent again later. */
const tolerance = 300

/** `body` is the text as it came, before it is parsed. */
export const isFromTollgate = (headers, body, secret, now = Date.now() / 1000) => {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures = "" } = headers
  if (!(Math.abs(now - Number(time)) <= tolerance)) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const expected = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest()
  return signatures.split(" ").some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ""), "base64")
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

const known = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
}
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
console.log("as it was sent:", isFromTollgate(known, '{"test": 2432232314}', secret, 1614265330))
console.log("changed:", isFromTollgate(known, '{"test": 2432232315}', secret, 1614265330))
console.log("old:", isFromTollgate(known, '{"test": 2432232314}', secret))
