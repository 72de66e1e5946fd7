// Computes a charge again from the receipt of its request, in whole picodollars (10^-12 USD).
// Reads TOLLGATE_URL and TOLLGATE_KEY. Needs no package.
const url = process.env.TOLLGATE_URL ?? "http://127.0.0.1:8080"
const headers = { authorization: `Bearer ${process.env.TOLLGATE_KEY}`, "content-type": "application/json" }

const messages = [{ role: "user", content: "Why is the sky blue?" }]
const answer = await fetch(`${url}/v1/chat/completions`, {
  method: "POST",
  headers,
  body: JSON.stringify({ messages })
}).then((response) => response.json())

/** A receipt is stored within milliseconds of the end of its request, so the first look may come too early. */
const receiptOf = async (id, looks = 20) => {
  const response = await fetch(`${url}/v1/generations/${id}`, { headers })
  if (response.ok) return response.json()
  if (looks === 0) throw new Error(`No receipt for ${id}`)
  await new Promise((resolve) => setTimeout(resolve, 100))
  return receiptOf(id, looks - 1)
}
const receipt = await receiptOf(answer.id)

const millionth = (rate) => {
  const [whole, fraction = ""] = rate.split(".")
  return BigInt(whole + fraction.padEnd(6, "0"))
}
const hour = 3_600_000n
let sum = 0n
for (const [bucket, rate] of Object.entries(receipt.picodollars_per_token)) {
  sum += BigInt(receipt.tokens[bucket]) * millionth(rate) * hour
}
if (receipt.billed_audio_ms !== null) {
  sum += BigInt(receipt.billed_audio_ms) * millionth(receipt.picodollars_per_audio_hour)
}
const unit = 1_000_000n * hour
const picodollars = (sum + unit - 1n) / unit

const [whole, fraction = ""] = receipt.cost_usd.split(".")
const charged = BigInt(whole + fraction.padEnd(12, "0"))
console.log(`charged ${charged}, computed ${picodollars}: ${charged === picodollars ? "they agree" : "they differ"}`)
process.exitCode = charged === picodollars ? 0 : 1
