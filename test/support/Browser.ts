/** A real browser for suites that look at pages: the Chromium of the machine, where it has one. */
import { existsSync } from "node:fs"

import { Effect, type Scope } from "effect"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]

/** The path of Chromium; `undefined` where it is not installed. */
export const chromiumPath: string | undefined = places.find((path) => existsSync(path))

/** A busy machine takes its time; what a test waits for are events. */
const browserTimeoutMillis = 60_000

/** A browser that ends with the scope. */
export const browser: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launch({
      executablePath: chromiumPath ?? "",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
      timeout: browserTimeoutMillis
    })
  ),
  (open) => Effect.promise(() => open.close())
)

export interface WatchedPage {
  readonly page: Page
  /** Errors of the page, violations of its policy, and requests to another host than that of its first address. */
  readonly faults: ReadonlyArray<string>
}

/** A page with everything that goes wrong in it. */
export const openPage = async (
  open: Browser,
  address: string,
  options: BrowserContextOptions = {}
): Promise<WatchedPage> => {
  const context = await open.newContext(options)
  context.setDefaultTimeout(browserTimeoutMillis)
  const page = await context.newPage()
  const faults: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text())
  })
  page.on("pageerror", (error) => faults.push(String(error)))
  page.on("request", (request) => {
    const { host, protocol } = new URL(request.url())
    if (protocol !== "data:" && host !== new URL(address).host) faults.push(`a request to ${request.url()}`)
  })
  await page.goto(address, { waitUntil: "load" })
  return { page, faults }
}
