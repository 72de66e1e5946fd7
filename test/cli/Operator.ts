/** The day of an operator, in commands of `tollgate`, whatever they reach the gateway's database through. */
import { createServer, connect } from "node:net"

import { assert } from "@effect/vitest"
import { Effect } from "effect"

import type { Json } from "../support/Chat.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { tollgate } from "./Tollgate.ts"

/** Commands with the same environment. */
export const operator = (environment: Environment) => {
  const run = (...words: ReadonlyArray<string>) => tollgate(environment, words)
  /** The lines that a command prints. Fails the test if it fails. */
  const lines = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
    const { code, err, out } = yield* run(...words)
    assert.strictEqual(code, 0, `${words.join(" ")}\n${err}`)
    return out.trimEnd().split("\n")
  })
  /** The JSON that a command prints. */
  const json = (...words: ReadonlyArray<string>) =>
    Effect.map(lines(...words, "--json"), (printed): Json => JSON.parse(printed.join("\n")))
  return { run, lines, json }
}

export type Operator = ReturnType<typeof operator>

/** Opens the organization Acme, issues a key with limits for it, and grants it credit. */
export const openAcme = Effect.fnUntraced(function* ({ json, lines }: Operator) {
  const opened = yield* json("org", "create", "Acme", "--with-key")
  const organization = opened["organization"] as Json
  assert.match(String((opened["api_key"] as Json)["secret"]), /^tg-/)
  yield* json("env", "create", "Acme/default", "production")
  const limits = ["--model", "gpt-4o-mini", "--rpm", "100", "--expires", "2099-01-01T00:00:00Z", "--label", "build"]
  const key = yield* json("key", "issue", "--environment", "Acme/default/production", "--name", "ci", ...limits)
  assert.deepInclude(key, {
    object: "api_key",
    organization_id: organization["id"],
    name: "ci",
    label: "build",
    models: ["gpt-4o-mini"],
    endpoints: null,
    requests_per_minute: 100,
    expires_at: "2099-01-01T00:00:00.000Z"
  })
  const budget = yield* json("budget", "create", "5", "--period", "month", "--zone", "Europe/Berlin", "--org", "Acme")
  const id = String(budget["id"])
  assert.deepInclude(budget, { subject: "organization", amount_usd: "5", time_zone: "Europe/Berlin", left_usd: "5" })
  assert.deepInclude(yield* json("budget", "set", id, "7.5"), { amount_usd: "7.5", left_usd: "7.5" })
  assert.deepInclude(yield* json("budget", "show", id), { id, amount_usd: "7.5", spent_usd: "0" })
  assert.match(
    (yield* lines("budget", "list", "--org", "Acme"))[1] ?? "",
    / organization +- +- +month +Europe\/Berlin +7\.5 /
  )
  const grant = ["credit", "grant", "Acme", "25", "--payment", "inv-17", "--reason", "contract of March"]
  const granted = yield* lines(...grant)
  assert.include(granted, "booked                   true")
  assert.include(granted, "balance.available_usd    25")
  assert.deepInclude(yield* json(...grant), { booked: false })
  return { organization: String(organization["id"]), key: String(key["id"]), secret: String(key["secret"]) }
})

/** Rotates the key, corrects the balance, revokes the old key and closes the organization. Answers the journal. */
export const closeAcme = Effect.fnUntraced(function* ({ json, lines }: Operator, key: string, actor: string) {
  const changed = yield* json("key", "update", key, "--rpm", "5", "--clear", "model")
  assert.deepInclude(changed, { models: null, requests_per_minute: 5, label: "build" })
  const rotated = yield* json("key", "rotate", key, "--overlap", "1h")
  assert.notStrictEqual(rotated["id"], key)
  assert.deepInclude(rotated, { requests_per_minute: 5, label: "build", revoked_at: null })
  assert.isString((yield* json("key", "revoke", key, "--yes"))["revoked_at"])
  yield* lines("credit", "correct", "Acme", "-0.5", "--payment", "c-1", "--reason", "charged twice")
  const journal = yield* lines("credit", "journal", "Acme")
  const [budget] = (yield* json("budget", "list", "--org", "Acme"))["data"] as ReadonlyArray<Json>
  assert.isString((yield* json("budget", "remove", String(budget?.["id"]), "--yes"))["removed_at"])
  const valid = (yield* json("key", "list", "--org", "Acme", "--valid", "true"))["data"] as ReadonlyArray<Json>
  assert.deepStrictEqual(
    valid.map(({ name }) => name),
    ["ci", "default"]
  )
  assert.isString((yield* json("org", "close", "Acme", "--yes"))["closed_at"])
  const trail = (yield* lines("audit", "--org", "Acme", "--all"))
    .slice(1)
    .map((line) => line.split(/ {2,}/).slice(1, 3))
  // Those that one command makes may be of the same millisecond.
  assert.sameDeepMembers(
    trail,
    [
      "organization.close",
      "budget.remove",
      "budget.update",
      "budget.create",
      "credit.correction",
      "api_key.revoke",
      "api_key.rotate",
      "api_key.update",
      "credit.grant",
      "api_key.issue",
      "environment.create",
      "api_key.issue",
      "environment.create",
      "project.create",
      "organization.create"
    ].map((action) => [actor, action])
  )
  return journal
})

/** A port that refuses connections and that nobody else can open: one end of a connection has it. */
export const refusingPort = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      const target = typeof address === "object" && address !== null ? address.port : 0
      const client = connect(target, "127.0.0.1", () =>
        resume(
          Effect.succeed({
            port: client.localPort ?? 0,
            close: () => {
              client.destroy()
              server.close()
            }
          })
        )
      )
    })
  }),
  ({ close }) => Effect.sync(close)
)
