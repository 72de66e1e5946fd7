/** The day of an operator, in commands of `tollgate`, whatever they reach the gateway's database through. */
import { createServer, connect } from "node:net"

import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"

import { Database } from "../../src/sql/Database.ts"
import type { Json } from "../support/Chat.ts"
import type { Environment } from "../support/GatewayEnvironment.ts"
import { tollgate, type tollgateInProcess } from "./Tollgate.ts"

/** Commands with the same environment, each a process unless they are run otherwise. */
export const operator = (environment: Environment, how: typeof tollgateInProcess = tollgate) => {
  const run = (...words: ReadonlyArray<string>) => how(environment, words)
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

export const rowsOf = (answer: Json) => answer["data"] as ReadonlyArray<Json>

/** The commands that open the organization Acme, with what their answers have. */
const opening: ReadonlyArray<readonly [words: string, members: Json]> = [
  [
    "org set Acme --hard-cap true --rpm 1000 --tpm 1000000 --concurrent 50 --low-balance 1",
    {
      hard_cap: true,
      requests_per_minute: 1_000,
      tokens_per_minute: 1_000_000,
      concurrent_requests: 50,
      low_balance_usd: "1"
    }
  ],
  ["org pricing Acme --factor 1.25", { pricing: { factor: "1.25" }, hard_cap: true }],
  ["project create Acme shop", { object: "project", name: "shop" }],
  ["env create Acme/shop production", { object: "environment", name: "production" }]
]

/** Opens Acme with a hard cap and a factor, issues a key with limits, sets a budget and grants credit. */
export const openAcme = Effect.fnUntraced(function* ({ json, lines }: Operator) {
  const opened = yield* json("org", "create", "Acme", "--with-key")
  const organization = opened["organization"] as Json
  assert.match(String((opened["api_key"] as Json)["secret"]), /^tg-/)
  for (const [words, members] of opening) assert.deepInclude(yield* json(...words.split(" ")), members, words)
  const allowed = ["--model", "gpt-4o-mini", "--model", "gpt-4.1", "--endpoint", "chat.completions"]
  const rates = ["--rpm", "100", "--tpm", "100000", "--concurrent", "4", "--expires", "2099-01-01T00:00:00Z"]
  const named = ["--environment", "Acme/shop/production", "--name", "ci", "--label", "build"]
  const key = yield* json("key", "issue", ...named, ...allowed, ...rates)
  assert.deepInclude(key, {
    object: "api_key",
    organization_id: organization["id"],
    name: "ci",
    label: "build",
    models: ["gpt-4o-mini", "gpt-4.1"],
    endpoints: ["chat.completions"],
    requests_per_minute: 100,
    tokens_per_minute: 100_000,
    concurrent_requests: 4,
    expires_at: "2099-01-01T00:00:00.000Z"
  })
  const zone = ["--period", "total", "--zone", "Europe/Berlin"]
  const budget = yield* json("budget", "create", "0.0001", ...zone, "--project", "Acme/shop")
  assert.deepInclude(budget, { subject: "project", time_zone: "Europe/Berlin", left_usd: "0.0001" })
  const grant = ["credit", "grant", "Acme", "25", "--payment", "inv-17", "--reason", "contract of March"]
  const granted = yield* lines(...grant)
  assert.include(granted, "booked                   true")
  assert.include(granted, "balance.available_usd    25")
  assert.deepInclude(yield* json(...grant), { booked: false })
  return {
    organization: String(organization["id"]),
    key: String(key["id"]),
    secret: String(key["secret"]),
    budget: String(budget["id"])
  }
})

export type Opened = Effect.Success<ReturnType<typeof openAcme>>

/** Raises the budget of the project. */
export const raiseBudget = Effect.fnUntraced(function* ({ json, lines }: Operator, { budget }: Opened) {
  assert.deepInclude(yield* json("budget", "set", budget, "5"), { id: budget, amount_usd: "5" })
  const [, row] = yield* lines("budget", "list", "--project", "Acme/shop")
  assert.match(row ?? "", / total +Europe\/Berlin +5 /)
})

/** Changes and rotates the key, and answers the secret of the new one. The old one is valid for another hour. */
export const rotateKey = Effect.fnUntraced(function* ({ json }: Operator, { key }: Opened) {
  const changed = yield* json("key", "update", key, "--rpm", "90", "--clear", "tpm", "--clear", "concurrent")
  const members = { requests_per_minute: 90, tokens_per_minute: null, concurrent_requests: null, label: "build" }
  assert.deepInclude(changed, members)
  const rotated = yield* json("key", "rotate", key, "--overlap", "1h")
  assert.notStrictEqual(rotated["id"], key)
  assert.deepInclude(rotated, { ...members, models: ["gpt-4o-mini", "gpt-4.1"], revoked_at: null })
  return String(rotated["secret"])
})

/** What operators changed in the course of the day, from the first on, with what was there before and after. */
const changes: ReadonlyArray<readonly [action: string, before?: Json | undefined, after?: Json]> = [
  ["organization.update", { hard_cap: false, concurrent_requests: null }, { hard_cap: true, concurrent_requests: 50 }],
  ["organization.update", { pricing: null }, { pricing: { factor: "1.25" } }],
  ["project.create", undefined, { name: "shop" }],
  ["environment.create", undefined, { name: "production" }],
  ["api_key.issue", undefined, { name: "ci", requests_per_minute: 100, tokens_per_minute: 100_000 }],
  ["budget.create", undefined, { amount: 100_000_000, time_zone: "Europe/Berlin" }],
  ["credit.grant", undefined, { payment_id: "inv-17", amount_usd: "25" }],
  ["budget.update", { amount: 100_000_000 }, { amount: 5_000_000_000_000 }],
  ["api_key.update", { requests_per_minute: 100, concurrent_requests: 4 }, { requests_per_minute: 90 }],
  ["api_key.rotate"],
  ["api_key.revoke", { revoked_at: null }],
  ["credit.correction", undefined, { payment_id: "c-1", amount_usd: "-0.5" }],
  ["budget.remove", { removed_at: null }],
  ["organization.close", { closed_at: null }]
]

/** What `org create --with-key` does. */
const firstChanges = ["organization.create", "project.create", "environment.create", "api_key.issue"]

/** Revokes the old key, corrects the balance, removes the budget and closes Acme. */
export const closeAcme = Effect.fnUntraced(function* ({ json, lines }: Operator, { budget, key }: Opened) {
  assert.isString((yield* json("key", "revoke", key, "--yes"))["revoked_at"])
  yield* lines("credit", "correct", "Acme", "-0.5", "--payment", "c-1", "--reason", "charged twice")
  assert.isString((yield* json("budget", "remove", budget, "--yes"))["removed_at"])
  assert.deepStrictEqual(
    rowsOf(yield* json("key", "list", "--org", "Acme", "--valid", "true")).map(({ name }) => name),
    ["ci", "default"]
  )
  assert.isString((yield* json("org", "close", "Acme", "--yes"))["closed_at"])
})

/** Asserts that the audit trail names every change of the day in its order, and who made it. */
export const assertAudited = Effect.fnUntraced(function* ({ json }: Operator, actor: string) {
  const events = rowsOf(yield* json("audit", "--org", "Acme", "--all")).toReversed()
  // Those that one command makes may be of the same millisecond.
  const [first, rest] = [events.slice(0, firstChanges.length), events.slice(firstChanges.length)]
  assert.sameMembers(
    first.map(({ action }) => action),
    firstChanges
  )
  assert.deepStrictEqual(
    rest.map(({ action }) => action),
    changes.map(([action]) => action)
  )
  for (const event of events) assert.strictEqual((event["actor"] as Json)["name"], actor)
  for (const [index, [action, before, after]] of changes.entries()) {
    if (before) assert.deepInclude(rest[index]?.["before"], before, action)
    if (after) assert.deepInclude(rest[index]?.["after"], after, action)
  }
  assert.notMatch(JSON.stringify(events), /sha256|"secret"/)
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

/** A database as a gateway leaves it, with `variables` that name it and an address on which nothing listens. */
export const stoppedGateway = Effect.fnUntraced(function* (database: Environment) {
  yield* Effect.void.pipe(
    Effect.provide(
      Database.layer({
        ...(database["DATABASE_URL"] !== undefined && { url: Redacted.make(database["DATABASE_URL"]) }),
        dataDir: database["DATA_DIR"] ?? "unused",
        poolSize: 1
      }),
      { local: true }
    )
  )
  const { port } = yield* refusingPort
  return { ...database, PORT: String(port) }
})
