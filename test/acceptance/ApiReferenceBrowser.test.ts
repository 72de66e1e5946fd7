/** The page at `/docs` in a real browser: it fits every screen, breaks none of its rules, and works behind a proxy. */
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"

import { onEmbedded } from "../clients/EmbeddedGateway.ts"
import { browser, chromiumPath, openPage } from "../support/Browser.ts"
import { TestGateway } from "../support/TestGateway.ts"

/** A browser starts slowly on a busy machine. */
const browserTimeout = 180_000

/** A proxy that serves the gateway under `/gateway/`. */
const behindPrefix = (url: string) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((incoming, outgoing) => {
        const { headers, method, url: path = "" } = incoming
        if (!path.startsWith("/gateway/")) return void outgoing.writeHead(404).end()
        const forwarded = request(url + path.slice("/gateway".length), { method, headers }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(outgoing)
        })
        incoming.pipe(forwarded)
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => (server.closeAllConnections(), server.close()))
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/gateway`))

const chat = "#chat\\.completions"

/** Runs in the page: by how many pixels it is too wide once everything in it is unfolded. */
const unfoldedOverflow = (): number => {
  for (const fold of document.querySelectorAll("details")) {
    fold.removeAttribute("name")
    fold.open = true
  }
  return document.documentElement.scrollWidth - innerWidth
}

/** Fails the test unless the page sends the request of the first form and shows its answer. */
const tryChat = async (page: Page, key: string): Promise<void> => {
  const form = page.locator(`${chat} .try`)
  await form.locator("summary").click()
  await form.locator(".key").fill(key)
  await form.locator("textarea").fill('{"messages": [{"role": "user", "content": "Why is the sky blue?"}]}')
  await form.locator("button").click()
  await form.locator(".result", { hasText: '"finish_reason": "stop"' }).waitFor()
  assert.match((await form.locator(".result").textContent()) ?? "", /^200 OK\nx-request-id: [0-9a-f-]{36}\n/)
}

const fitsScreens = Effect.gen(function* () {
  const { url } = yield* TestGateway
  const open = yield* browser
  for (const [width, colorScheme] of [
    [320, "light"],
    [360, "dark"],
    [768, "light"],
    [1440, "dark"]
  ] as const) {
    const { faults, page } = yield* Effect.promise(() =>
      openPage(open, `${url}/docs`, { viewport: { width, height: 800 }, colorScheme })
    )
    const overflow = yield* Effect.promise(() => page.evaluate(unfoldedOverflow))
    assert.isAtMost(overflow, 0, `${width} pixels`)
    assert.deepStrictEqual(faults, [], `${width} pixels`)
  }
})

const showsOneLanguage = Effect.gen(function* () {
  const { url } = yield* TestGateway
  const open = yield* browser
  for (const javaScriptEnabled of [true, false]) {
    const { page } = yield* Effect.promise(() => openPage(open, `${url}/docs`, { javaScriptEnabled }))
    yield* Effect.promise(async () => {
      const shown = (language: string) => page.locator(`${chat} [open] pre[data-language=${language}]`).isVisible()
      assert.deepStrictEqual([await shown("curl"), await shown("python")], [true, false])
      await page.locator(`${chat} .tabs label`, { hasText: "Python" }).click()
      assert.deepStrictEqual([await shown("curl"), await shown("python")], [false, true])
    })
  }
})

const sendsRequest = Effect.gen(function* () {
  const { key, url } = yield* TestGateway
  const open = yield* browser
  for (const base of [url, yield* behindPrefix(url)]) {
    const { faults, page } = yield* Effect.promise(() => openPage(open, `${base}/docs`))
    yield* Effect.promise(async () => {
      assert.include(await page.locator("[data-origin]").textContent(), base)
      await tryChat(page, key)
    })
    assert.deepStrictEqual(faults, [])
  }
})

const hasMenu = Effect.gen(function* () {
  const { url } = yield* TestGateway
  const open = yield* browser
  const { faults, page } = yield* Effect.promise(() =>
    openPage(open, `${url}/docs`, { viewport: { width: 360, height: 740 } })
  )
  yield* Effect.promise(async () => {
    const contents = page.locator("#contents")
    assert.isFalse(await contents.isVisible())
    await page.getByRole("button", { name: "Contents" }).click()
    await contents.getByRole("link", { name: "Transcribe audio" }).click()
    await contents.waitFor({ state: "hidden" })
    assert.isTrue(page.url().endsWith("#audio.transcriptions"))
  })
  assert.deepStrictEqual(faults, [])
})

onEmbedded.sandbox("The API reference in a browser", (it) => {
  const inBrowser = (name: string, test: ReturnType<Parameters<typeof it.effect>[1]>) => {
    if (chromiumPath !== undefined) it.effect(name, () => test, browserTimeout)
    // There is no browser on this machine, and the name of the test says so.
    else it.effect.skip(`${name} [no chromium]`, () => test)
  }

  inBrowser("fits every screen, also when all of it is unfolded", fitsScreens)
  inBrowser("shows one language in all samples, and only that", showsOneLanguage)
  inBrowser("sends a request and shows the answer, also behind a prefix of the path", sendsRequest)
  inBrowser("has its contents in a menu on a phone, which closes after a choice", hasMenu)
})
