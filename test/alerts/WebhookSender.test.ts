import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"

import { retryDelayMillis } from "../../src/alerts/RetrySchedule.ts"
import { type SenderOptions, WebhookSender } from "../../src/alerts/WebhookSender.ts"
import { newWebhookSecret, signatureHeaders } from "../../src/alerts/WebhookSignature.ts"
import { webhookUrlFault } from "../../src/alerts/WebhookUrl.ts"
import { answering, makeReceiver } from "./WebhookReceiver.ts"

const sentTo = (url: string, options: SenderOptions) =>
  WebhookSender.use(({ send }) =>
    send({ id: "1", url, body: "{}", secrets: [Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")] })
  ).pipe(Effect.provide(WebhookSender.layer(options)))

describe("WebhookSignature", () => {
  it("is that of the reference implementations of Standard Webhooks", () => {
    const headers = signatureHeaders(
      { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", sentAtMillis: 1_614_265_330_000, body: '{"test": 2432232314}' },
      [Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    )
    assert.deepStrictEqual(headers, {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    })
  })

  it.effect("is by a secret of 32 random bytes, which is not printed", () =>
    Effect.gen(function* () {
      const secret = yield* newWebhookSecret
      assert.match(Redacted.value(secret), /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.strictEqual(String(secret), "<redacted>")
    }).pipe(Effect.provide(SecureRandom.layerWebCrypto))
  )
})

describe("RetrySchedule", () => {
  it("tries seven times over a bit more than a day", () => {
    const delays = Array.from({ length: 7 }, (_, index) => retryDelayMillis(index + 1, 0.5))
    const seconds = delays.map((millis) => millis && millis / 1_000)
    assert.deepStrictEqual(seconds, [10, 60, 600, 3_600, 21_600, 86_400, undefined])
    assert.deepStrictEqual([retryDelayMillis(1, 0), retryDelayMillis(1, 1)], [8_000, 12_000])
  })
})

describe("WebhookUrl", () => {
  it.each([
    ["https://example.com/hook?token=1", undefined],
    ["https://example.com:8443/", undefined],
    ["https://8.8.8.8/", undefined],
    ["http://example.com/", "must begin with https://"],
    ["ftp://example.com/", "must begin with https://"],
    ["example.com", "must be a URL of at most 2048 characters"],
    [`https://example.com/${"x".repeat(2_048)}`, "must be a URL of at most 2048 characters"],
    ["https://user:secret@example.com/", "must not have a user name or a password in it"],
    ["https://example.com/#part", "must not have a fragment"],
    ["https://localhost/", "must lead to a public address"],
    ["https://api.localhost./", "must lead to a public address"],
    ["https://127.0.0.1/", "must lead to a public address"],
    ["https://2130706433/", "must lead to a public address"],
    ["https://[::1]/", "must lead to a public address"],
    ["https://[::ffff:10.0.0.1]/", "must lead to a public address"],
    ["https://169.254.169.254/latest/meta-data", "must lead to a public address"],
    ["https://10.1.2.3/", "must lead to a public address"]
  ])("%s", (url, fault) => assert.strictEqual(webhookUrlFault(url, false), fault))
})

describe("WebhookSender", () => {
  const forbidden = ["127.0.0.1", "169.254.169.254", "10.0.0.7", "::1", "fe80::1", "fd00:ec2::254"]
  it.live.each(forbidden)("refuses a name that leads to %s", (address) =>
    Effect.gen(function* () {
      const { received, url } = yield* makeReceiver()
      const { port } = new URL(url)
      const resolve = async () => ["93.184.215.14", address]
      const { error, status } = yield* sentTo(`https://hook.test:${port}/`, { privateWebhooks: false, resolve })
      assert.deepStrictEqual([error, status], ["the host is not at a public address", undefined])
      assert.strictEqual(received.length, 0)
    })
  )

  it.live("refuses an address that is not public, also if it was stored", () =>
    Effect.gen(function* () {
      const { received, url } = yield* makeReceiver()
      const stored = yield* sentTo(url.replace("http:", "https:"), { privateWebhooks: false })
      assert.strictEqual(stored.error, "the URL must lead to a public address")
      assert.strictEqual(received.length, 0)
    })
  )

  it.live("follows no redirect", () =>
    Effect.gen(function* () {
      const target = yield* makeReceiver()
      const { received, url } = yield* makeReceiver(answering(307, "", { location: target.url }))
      const { error, status } = yield* sentTo(url, { privateWebhooks: true })
      assert.deepStrictEqual([error, status], ["status 307: redirects are not followed", 307])
      assert.deepStrictEqual([received.length, target.received.length], [1, 0])
    })
  )

  it.live("reads the beginning of an answer that does not end", () =>
    Effect.gen(function* () {
      const { url } = yield* makeReceiver((response) => {
        response.writeHead(500)
        const more = () => void (response.writableEnded || response.write("x ".repeat(4_096), () => setImmediate(more)))
        response.on("close", () => response.end())
        more()
      })
      const { error, status } = yield* sentTo(url, { privateWebhooks: true })
      assert.strictEqual(status, 500)
      assert.isAtMost(error?.length ?? 0, 1_100)
    })
  )

  it.live("takes any status from 200 to 299 as a success", () =>
    Effect.gen(function* () {
      const { url } = yield* makeReceiver(answering(202, "ok"))
      const { error, status } = yield* sentTo(url, { privateWebhooks: true })
      assert.deepStrictEqual([error, status], [undefined, 202])
    })
  )
})
