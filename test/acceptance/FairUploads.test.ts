/** How organizations share the slots for uploads, on real sockets, and with a provider that answers when it is told. */
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"

import { as, settledBalance } from "../support/Chat.ts"
import { type Behaviour, FakeProvider, reply } from "../support/fake-provider/FakeProvider.ts"
import { audioPart, multipart } from "../support/Multipart.ts"
import { answerIn, openSocket, uploadHead } from "../support/SlowClients.ts"
import { describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"
import { transcribeWith } from "../support/TranscriptionForms.ts"

/** The default of `MAX_UPLOADS`. One of them is kept for organizations that have none. */
const maxUploads = 8

const transcribed = reply(200, { text: "hello", usage: { type: "tokens", input_tokens: 5, output_tokens: 1 } })

/** Behaviours that answer when they are released. */
const heldBack = (count: number) => {
  const pending: Array<() => void> = []
  const hold: Behaviour = (response, received) => void pending.push(() => transcribed(response, received))
  return {
    behaviours: Array.from({ length: count }, () => hold),
    release: Effect.sync(() => pending.splice(0).forEach((answer) => answer()))
  }
}

const form = multipart([audioPart()])

/** Begins an upload, whose client is here as soon as the gateway has asked for the body or refused it. */
const begun = Effect.fnUntraced(function* (tenant: Tenant) {
  const client = yield* openSocket
  client.send(uploadHead(tenant.key, form))
  yield* Effect.promise(() => client.received(/^HTTP\/1\.1 \d{3} [^]*\r\n\r\n/))
  return client
})

/** Asserts that every slot is free: all of them can be held at the same time. */
const assertAllFree = Effect.fnUntraced(function* (one: Tenant, other: Tenant) {
  const provider = yield* FakeProvider
  const { behaviours, release } = heldBack(maxUploads)
  provider.script(...behaviours)
  const upload = (tenant: Tenant) => Effect.forkChild(transcribeWith({}, as(tenant)))
  const uploads = yield* Effect.forEach(Array.from({ length: maxUploads - 1 }), () => upload(one))
  yield* Effect.promise(() => provider.arrival(maxUploads - 1))
  // The last slot is only for an organization that has none.
  uploads.push(yield* upload(other))
  yield* Effect.promise(() => provider.arrival(maxUploads))
  yield* release
  for (const fiber of uploads) {
    const { status, text } = yield* Fiber.join(fiber)
    assert.strictEqual(status, 200, text)
  }
})

describeWithFakeProvider("Uploads of several organizations", (it) => {
  it.effect("are accepted beside twelve of one organization that send nothing or next to nothing", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(transcribed)
      const slow = yield* gateway.tenant("1")
      const other = yield* gateway.tenant("1")
      const clients = yield* Effect.forEach(Array.from({ length: 12 }), () => begun(slow), { concurrency: "unbounded" })
      for (const [at, client] of clients.entries()) {
        if (at % 3 > 0) client.send(form.body.subarray(0, 300))
        if (at % 3 > 1) client.drip()
      }
      const accepted = yield* transcribeWith({}, as(other))
      assert.strictEqual(accepted.status, 200, accepted.text)
      for (const { closed } of clients) {
        const answer = answerIn(yield* Effect.promise(() => closed))
        assert.deepStrictEqual([answer.status, answer.at("error.code")], [408, "request_timeout"], answer.text)
        assert.strictEqual(answer.headers.get("connection"), "close")
      }
      assert.strictEqual(yield* settledBalance(slow.organization), usd("1"))
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
      yield* assertAllFree(slow, other)
    })
  )

  it.effect("find a slot that one organization with many clients cannot take, whose own wait or are refused", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const { behaviours, release } = heldBack(maxUploads - 1)
      provider.script(...behaviours, transcribed)
      const many = yield* gateway.tenant("1")
      const other = yield* gateway.tenant("1")
      // Seven have slots, eight wait, and five are refused at once.
      const refusals = yield* Deferred.make<void>()
      let refused = 0
      const uploads = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        transcribeWith({}, as(many)).pipe(
          Effect.tap(({ status }) =>
            status === 429 && ++refused === 5 ? Deferred.succeed(refusals, undefined) : Effect.void
          ),
          Effect.forkChild
        )
      )
      yield* Effect.promise(() => provider.arrival(maxUploads - 1))
      yield* Deferred.await(refusals)
      const accepted = yield* transcribeWith({}, as(other))
      assert.strictEqual(accepted.status, 200, accepted.text)
      yield* release
      const replies = yield* Effect.forEach(uploads, (fiber) => Fiber.join(fiber))
      assert.isAtLeast(replies.filter(({ status }) => status === 200).length, maxUploads - 1)
      for (const refusal of replies.filter(({ status }) => status !== 200)) {
        assert.deepStrictEqual([refusal.status, refusal.at("error.code")], [429, "rate_limit_exceeded"])
        assert.strictEqual(refusal.headers.get("retry-after"), "1")
      }
      yield* assertAllFree(many, other)
    })
  )

  it.effect("leave nothing behind when their clients leave while they upload, wait or are transcribed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(...heldBack(maxUploads - 1).behaviours)
      const leaving = yield* gateway.tenant("1")
      const other = yield* gateway.tenant("1")
      const clients = yield* Effect.forEach(Array.from({ length: maxUploads + 7 }), () => begun(leaving))
      const held = clients.slice(0, maxUploads - 1)
      for (const client of held) client.send(form.body)
      yield* Effect.promise(() => provider.arrival(maxUploads - 1))
      const transcribing = provider.received
      for (const [at, client] of clients.slice(held.length).entries()) {
        client.send(form.body.subarray(0, at % 2 ? 300 : form.body.length))
      }
      for (const client of clients) client.hangUp()
      for (const { aborted } of transcribing) yield* Effect.promise(() => aborted)
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
      yield* assertAllFree(leaving, other)
    })
  )
})
