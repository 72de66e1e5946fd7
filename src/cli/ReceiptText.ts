/** A receipt as text: who asked, the attempts in time, what was charged for what, and why the model was chosen. */
import { DateTime } from "effect"

import type { RequestReceipt } from "../api/admin/RequestRoutes.ts"
import { printable } from "./AdminOutput.ts"
import { table } from "./Table.ts"

type ReceiptFacts = typeof RequestReceipt.Type

const barWidth = 40

const millis = (value: number): string => `${value.toFixed(1)} ms`

/** A bar from `start` to `end` on a line that stands for `whole`, at least one character wide. */
const bar = (start: number, end: number, whole: number): string => {
  const at = (value: number) => Math.round((Math.min(value, whole) / Math.max(whole, 1)) * barWidth)
  const from = Math.min(at(start), barWidth - 1)
  return `|${" ".repeat(from)}${"#".repeat(Math.max(1, at(end) - from))}`.padEnd(barWidth + 1) + "|"
}

export const receiptLines = (receipt: ReceiptFacts): ReadonlyArray<string> =>
  [factLines(receipt), attemptLines(receipt), chargeLines(receipt), routingLines(receipt)]
    .filter(({ length }) => length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]))

const factLines = (receipt: ReceiptFacts): ReadonlyArray<string> => {
  const model = receipt.model === null ? "none" : `${receipt.model} at ${receipt.endpoint}`
  const how = [receipt.stream ? "streamed" : undefined, receipt.routing?.pinned ? "model of the session" : undefined]
  const facts: ReadonlyArray<readonly [string, string | null]> = [
    ["request", receipt.id],
    ["at", DateTime.formatIso(receipt.at)],
    ["outcome", [receipt.outcome, ...how.filter((text) => text !== undefined)].join(", ")],
    ["asked for", receipt.requested_model],
    ["answered by", model],
    ["organization", receipt.organization_id],
    ["project", receipt.project_id],
    ["environment", receipt.environment_id],
    ["key", receipt.api_key_id],
    ["call name", receipt.call_name],
    ["end user", receipt.end_user_id],
    ["audio", receipt.audio && `${receipt.audio.ms} ms, by its ${receipt.audio.basis}`],
    ["adjusted", receipt.adjusted.length === 0 ? null : receipt.adjusted.join(", ")]
  ]
  const shown = facts.flatMap(([name, value]) => (value === null ? [] : [[name, printable(value)]]))
  const [first = [], ...rest] = shown
  return table(first, rest, [])
}

/** Attempts follow each other, so each begins where the one before ended; what comes before the first is ours. */
const attemptLines = ({ attempts, duration_ms, first_output_ms, routing }: ReceiptFacts): ReadonlyArray<string> => {
  const tried = attempts.reduce((sum, { latency_ms }) => sum + latency_ms, 0)
  const firstAt = Math.max(0, (first_output_ms ?? duration_ms) - tried)
  const answered = attempts.some(({ outcome }) => outcome === "answered")
  const before = { what: "the gateway", ended: routing === null ? "" : `routed in ${millis(routing.latency_ms)}` }
  let at = firstAt
  const spans = attempts.map(({ endpoint, latency_ms, outcome, status }) => {
    const span = {
      what: endpoint,
      ended: status === null ? outcome : `${outcome} ${status}`,
      from: at,
      to: at + latency_ms
    }
    at = span.to
    return span
  })
  const rest =
    answered && at < duration_ms ? [{ what: "the rest of the answer", ended: "", from: at, to: duration_ms }] : []
  const rows = [{ ...before, from: 0, to: firstAt }, ...spans, ...rest].map(({ ended, from, to, what }) => [
    printable(what),
    ended,
    millis(to - from),
    bar(from, to, duration_ms)
  ])
  return table(["time", "", millis(duration_ms), ""], rows, [2])
}

const chargeLines = ({ charge, cost_usd, held_usd, tokens }: ReceiptFacts): ReadonlyArray<string> => {
  const rows = charge.map(({ amount_usd, count, picodollars, unit }) => [unit, String(count), picodollars, amount_usd])
  const lines = rows.length === 0 ? [] : table(["charge", "count", "picodollars each", "USD"], rows, [1, 2, 3])
  const hourly = charge.some(({ unit }) => unit === "audio_ms") ? ["The rate of audio_ms is for an hour of audio."] : []
  const reasoning = tokens && tokens.reasoning > 0 ? [`Of the output, ${tokens.reasoning} tokens are reasoning.`] : []
  const estimated = tokens?.estimated === true ? ["Some of this is the gateway's own count."] : []
  return [...lines, ...hourly, ...reasoning, ...estimated, `${held_usd} USD were held, ${cost_usd} USD were charged.`]
}

const routingLines = ({ routing }: ReceiptFacts): ReadonlyArray<string> => {
  if (routing === null) return []
  const demand = Object.entries(routing.demand).map(([axis, value]) => `${axis} ${value.toFixed(2)}`)
  const axes = demand.length === 0 ? "" : `: ${demand.join(", ")}`
  const rows = routing.candidates.map(({ cost_usd, distance, model }) => [model, distance.toFixed(3), cost_usd])
  return [
    `The model was chosen for a difficulty of ${routing.difficulty.toFixed(2)}${axes}`,
    ...(rows.length === 0 ? [] : table(["candidate", "distance", "expected USD"], rows, [1, 2])),
    ...routing.excluded.map(({ because, model }) => printable(`not ${model}: ${because}`))
  ]
}
