import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result } from "effect"
import { SecureRandom } from "effect/crypto"

import type { ChatRequest, ImagePart, ContentPart } from "../../../src/domain/Conversation.ts"
import { isPublic } from "../../../src/network/PublicAddress.ts"
import { checkedUrl } from "../../../src/providers/images/ImageDownload.ts"
import { ImageFetch, type ImageFetchOptions } from "../../../src/providers/images/ImageFetch.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import { request as plainRequest } from "../dispatch/FakeTargets.ts"

const png = Buffer.from("\u0089PNG\r\n\u001a\n and then the rest", "latin1")
const jpeg = Buffer.from("\u00ff\u00d8\u00ff\u00e0 and then the rest", "latin1")
const webp = Buffer.from("RIFF\n\u0000\u0000\u0000WEBPVP8 ", "latin1")
const gif = Buffer.from("GIF89a and then the rest", "latin1")

const dataUri = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString("base64")}`

type Serve = (response: ServerResponse, incoming: IncomingMessage) => void

const sends =
  (bytes: Buffer, headers: Record<string, string | number> = { "content-type": "image/png" }, status = 200): Serve =>
  (response) =>
    response.writeHead(status, headers).end(bytes)

const redirects = (location: string, status = 302) => sends(Buffer.alloc(0), { location }, status)

/** A server on an address of this machine. `seen` lists the requests that it received. */
const serving = Effect.fnUntraced(function* (serve: Serve, address = "127.0.0.1", wantedPort = 0) {
  const seen: Array<IncomingMessage> = []
  const server = createServer((incoming, response) => {
    seen.push(incoming)
    serve(response, incoming)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => {
      server.listen(wantedPort, address, () => resume(Effect.void))
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const { port } = server.address() as AddressInfo
  return { port, seen, url: `http://${address}:${port}/image` }
})

const image = (url: string): ImagePart => ({ type: "image", url })

const requestOf = (...content: ReadonlyArray<ContentPart>): ChatRequest => ({
  ...plainRequest,
  messages: [{ role: "user", content }]
})

const urlsOf = (request: ChatRequest): ReadonlyArray<string> =>
  request.messages.flatMap(({ content }) => content.flatMap((part) => (part.type === "image" ? [part.url] : [])))

/** Lets tests reach the one loopback address, at this port. */
const testOptions = (port: number): Partial<ImageFetchOptions> => ({
  ports: [80, 443, port],
  isAllowed: (address) => address === "127.0.0.1" || isPublic(address),
  resolve: async () => ["127.0.0.1"]
})

const inlined = (request: ChatRequest, options: Partial<ImageFetchOptions>) =>
  ImageFetch.use((images) => images.inlined(request)).pipe(Effect.provide(ImageFetch.layer(options)))

/** The message of the failure for an image that is refused. */
const refusalOf = Effect.fnUntraced(function* (url: string, options: Partial<ImageFetchOptions>) {
  const failure = yield* Effect.flip(inlined(requestOf(image(url)), options))
  assert.deepStrictEqual(failure.reason, { _tag: "Unsupported" })
  return failure.message
})

const messageOf = (why: string): string => `The image at messages[0].content[0] ${why}.`

const refuses = (name: string, why: string, serve: Serve, options: Partial<ImageFetchOptions> = {}) =>
  it.live(name, () =>
    Effect.gen(function* () {
      const { port, url } = yield* serving(serve)
      assert.strictEqual(yield* refusalOf(url, { ...testOptions(port), ...options }), messageOf(why))
    })
  )

describe("ImageFetch with public images", () => {
  it.live("replaces the URLs of images with their bytes wherever they are, and loads each once", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* serving((response, incoming) =>
        incoming.url?.startsWith("/a")
          ? sends(png, { "content-type": "image/png; charset=binary" })(response, incoming)
          : sends(jpeg, { "content-type": "image/jpg" })(response, incoming)
      )
      const [a, b] = [`http://images.test:${port}/a?sig=a%2Fb+c%20d&x#part`, `http://127.0.0.1:${port}/b`]
      const inline = "DATA:image/svg+xml;base64,AAAA"
      const text = { type: "text", text: a } as const
      const before: ChatRequest = {
        ...plainRequest,
        messages: [
          { role: "system", content: [text] },
          { role: "user", content: [text, { ...image(a), detail: "low" }, image(b), image(inline)] },
          { role: "tool", toolCallId: "1", content: [image(a)] }
        ]
      }
      const after = yield* inlined(before, testOptions(port))
      const [uriA, uriB] = [dataUri("image/png", png), dataUri("image/jpeg", jpeg)]
      assert.deepStrictEqual(after.messages, [
        { role: "system", content: [text] },
        { role: "user", content: [text, { ...image(uriA), detail: "low" }, image(uriB), image(inline)] },
        { role: "tool", toolCallId: "1", content: [image(uriA)] }
      ])
      assert.deepStrictEqual(seen.map(({ url }) => url).toSorted(), ["/a?sig=a%2Fb+c%20d&x", "/b"])
    })
  )

  it.live("sends requests without cookies, keys, trace headers or compression", () =>
    Effect.gen(function* () {
      const { port, seen, url } = yield* serving(sends(webp, { "content-type": "image/webp", "set-cookie": "a=b" }))
      yield* inlined(requestOf(image(url), image(`${url}2`)), testOptions(port)).pipe(Effect.withSpan("request"))
      assert.deepStrictEqual(
        seen.map(({ headers }) => headers),
        [0, 1].map(() => ({
          accept: "image/jpeg, image/png, image/gif, image/webp",
          "accept-encoding": "identity",
          connection: "close",
          host: `127.0.0.1:${port}`,
          "user-agent": "tollgate"
        }))
      )
    })
  )

  it.live("returns the same request object when there is nothing to load", () =>
    Effect.gen(function* () {
      const request = requestOf({ type: "text", text: "http://127.0.0.1/" }, image(dataUri("image/png", png)))
      assert.strictEqual(yield* inlined(request, {}), request)
    })
  )

  it.live("follows three redirects, including relative ones, but not a fourth", () =>
    Effect.gen(function* () {
      const { port, url } = yield* serving((response, incoming) => {
        const left = Number(incoming.url?.slice(1))
        const serve = left === 0 ? sends(gif, { "content-type": "image/gif" }) : redirects(`/${left - 1}`, 307)
        serve(response, incoming)
      })
      const at = (redirects: number) => new URL(`/${redirects}`, url).href
      const after = yield* inlined(requestOf(image(at(3))), testOptions(port))
      assert.deepStrictEqual(urlsOf(after), [dataUri("image/gif", gif)])
      assert.strictEqual(yield* refusalOf(at(4), testOptions(port)), messageOf("redirects more than 3 times"))
    })
  )

  it.live("never loads more than four images of a request, or sixteen of all requests, at once", () =>
    Effect.gen(function* () {
      let [most, allowed] = [0, 4]
      let waiting: Array<() => void> = []
      const answerAll = () => {
        const answers = waiting
        waiting = []
        for (const answer of answers) answer()
      }
      const { port, url } = yield* serving((response, incoming) => {
        waiting.push(() => sends(png)(response, incoming))
        most = Math.max(most, waiting.length)
        // As many as may be loaded at once wait for each other, and a while longer for one too many.
        if (waiting.length === allowed) setTimeout(answerAll, 30)
        else if (waiting.length === 1) setTimeout(answerAll, 5_000)
      })
      const request = requestOf(...Array.from({ length: 8 }, (_, at) => image(`${url}/${at}`)))
      yield* Effect.gen(function* () {
        const images = yield* ImageFetch
        yield* images.inlined(request)
        assert.strictEqual(most, 4)
        allowed = 16
        yield* Effect.forEach(Array.from({ length: 6 }), () => images.inlined(request), { concurrency: "unbounded" })
        assert.strictEqual(most, 16)
      }).pipe(Effect.provide(ImageFetch.layer(testOptions(port))))
    })
  )
})

describe("ImageFetch with addresses that are not public", () => {
  it.live("refuses this machine in every notation of its address", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* serving(sends(png))
      const hosts = [
        "127.0.0.1",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7f.1",
        "127.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７。0.0.1",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]"
      ]
      for (const host of hosts)
        assert.strictEqual(
          yield* refusalOf(`http://${host}:${port}/`, { ports: [port] }),
          messageOf("is not public"),
          host
        )
      assert.deepStrictEqual(seen, [])
    })
  )

  it.live("refuses a name if any of its addresses is not public, and does not reveal which", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* serving(sends(png))
      const answers = [["127.0.0.1", "10.0.0.1"], ["127.0.0.1", "fd00:ec2::254"], ["169.254.169.254"], ["nonsense"], []]
      for (const addresses of answers) {
        const options = { ...testOptions(port), resolve: async () => addresses }
        assert.strictEqual(yield* refusalOf(`http://images.test:${port}/`, options), messageOf("is not public"))
      }
      assert.deepStrictEqual(seen, [])
    })
  )

  it.live("refuses a redirect to an address that is not public, given by number or by name", () =>
    Effect.gen(function* () {
      let target = ""
      const { port, url } = yield* serving((response, incoming) => redirects(target)(response, incoming))
      const closed = yield* serving(sends(png), "127.0.0.2", port)
      const resolve = async () => ["127.0.0.2"]
      for (target of [closed.url, `//127.0.0.2:${port}/`, `http://inside.test:${port}/`, "http://169.254.169.254/"])
        assert.strictEqual(yield* refusalOf(url, { ...testOptions(port), resolve }), messageOf("is not public"), target)
      assert.deepStrictEqual(closed.seen, [])
    })
  )

  it.live("connects to the address it checked, even if the name resolves differently a moment later", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* serving(sends(png))
      const closed = yield* serving(sends(png), "127.0.0.2", port)
      let lookups = 0
      const rebinding = { ...testOptions(port), resolve: async () => [lookups++ === 0 ? "127.0.0.1" : "127.0.0.2"] }
      yield* inlined(requestOf(image(`http://rebinding.test:${port}/`)), rebinding)
      assert.deepStrictEqual([lookups, seen.length, closed.seen.length], [1, 1, 0])
    })
  )

  it.live("checks the name again after a redirect to the same host", () =>
    Effect.gen(function* () {
      const { port } = yield* serving(redirects("/again"))
      const closed = yield* serving(sends(png), "127.0.0.2", port)
      let lookups = 0
      const rebinding = { ...testOptions(port), resolve: async () => [lookups++ === 0 ? "127.0.0.1" : "127.0.0.2"] }
      assert.strictEqual(yield* refusalOf(`http://rebinding.test:${port}/`, rebinding), messageOf("is not public"))
      assert.deepStrictEqual(closed.seen, [])
    })
  )

  it.live("refuses forbidden addresses even when the client for providers is built in the same layer", () =>
    Effect.gen(function* () {
      const { port, seen, url } = yield* serving(sends(png))
      const ask = ImageFetch.use((images) => images.inlined(requestOf(image(url))))
      const failure = yield* Effect.flip(ask).pipe(
        Effect.provide([HttpTransport.layer(), ImageFetch.layer({ ports: [port] })]),
        Effect.provide(SecureRandom.layerWebCrypto)
      )
      assert.strictEqual(failure.message, messageOf("is not public"))
      assert.deepStrictEqual(seen, [])
    })
  )
})

describe("ImageFetch with URLs that it refuses", () => {
  const ports = [80, 443]
  const from = new URL("https://images.test/a")
  const refusals = [
    ["http://user@images.test/", "has a URL with credentials in it"],
    ["http://user:secret@images.test/", "has a URL with credentials in it"],
    ["http://:secret@images.test/", "has a URL with credentials in it"],
    ["http://images.test:8080/", "has a URL with a port other than 80 and 443"],
    ["https://images.test:22/", "has a URL with a port other than 80 and 443"],
    ["ftp://images.test/", "has a URL that is neither https nor http"],
    ["file:///etc/passwd", "has a URL that is neither https nor http"],
    ["gopher://images.test/", "has a URL that is neither https nor http"],
    ["javascript:alert(1)", "has a URL that is neither https nor http"],
    ["http://256.1.1.1/", "has a malformed URL"],
    ["http://[fe80::1%25eth0]/", "has a malformed URL"],
    ["/relative", "has a malformed URL"],
    [`https://images.test/${"a".repeat(8_192)}`, "has a URL of more than 8192 characters"]
  ] as const

  for (const [url, why] of refusals)
    it.live(`refuses ${url.slice(0, 40)}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* refusalOf(url, { resolve: () => assert.fail("looked up") }), messageOf(why))
      })
    )

  it("applies the same rules to a redirect, and does not let it leave https", () => {
    const whyOf = (location: string, base: URL) => Result.merge(checkedUrl(location, ports, base))
    assert.deepInclude(whyOf("http://images.test/b", from), { why: "redirects from https to http" })
    assert.deepInclude(whyOf("//u:p@images.test/b", from), { why: "has a URL with credentials in it" })
    assert.deepInclude(whyOf("data:image/png;base64,AAAA", from), { why: "has a URL that is neither https nor http" })
    assert.deepInclude(whyOf("b", from), { href: "https://images.test/b" })
    assert.deepInclude(whyOf("https://images.test/b", new URL("http://a.test")), { href: "https://images.test/b" })
  })

  it.live("refuses more than twenty images, counting repetitions", () =>
    Effect.gen(function* () {
      const request = requestOf(...Array.from({ length: 21 }, () => image("https://images.test/")))
      const failure = yield* Effect.flip(inlined(request, { resolve: () => assert.fail("looked up") }))
      assert.strictEqual(failure.message, "The request has more than 20 images given by URL.")
    })
  )
})

const mebibyte = 1024 * 1024

/** Writes until the connection closes. */
const endless =
  (chunk: Buffer, everyMillis: number, headers: Record<string, string | number>): Serve =>
  (response) => {
    response.writeHead(200, { "content-type": "image/png", ...headers })
    const timer = setInterval(() => response.write(chunk), everyMillis)
    response.on("close", () => clearInterval(timer))
  }

describe("ImageFetch with hostile servers", () => {
  const big = Buffer.concat([png, Buffer.alloc(mebibyte)])
  const quick = { imageTimeout: Duration.millis(300) }

  refuses("stops reading a body that does not end", "is larger than 20 MiB", endless(big, 1, {}))
  refuses(
    "does not trust the length that a server claims",
    "is larger than 20 MiB",
    endless(big, 1, { "content-length": 1_000 * mebibyte })
  )
  refuses("refuses an image that ends before its length", "could not be loaded", (response) => {
    response.writeHead(200, { "content-type": "image/png", "content-length": 1_000 })
    response.end(png)
  })
  refuses(
    "gives up on a body that arrives too slowly",
    "did not load in time",
    endless(Buffer.from("x"), 20, {}),
    quick
  )
  refuses("gives up on a server that does not answer", "did not load in time", () => undefined, quick)
  refuses(
    "gives up on a server that redirects slowly",
    "did not load in time",
    (response, incoming) => {
      setTimeout(() => redirects("/")(response, incoming), 150)
    },
    quick
  )
  it.live("gives up on a name that does not resolve", () =>
    Effect.gen(function* () {
      const silent = { resolve: () => new Promise<never>(() => undefined) }
      const url = "http://images.test/"
      assert.strictEqual(yield* refusalOf(url, { ...silent, ...quick }), messageOf("did not load in time"))
      const connectTimeout = Duration.millis(300)
      assert.strictEqual(yield* refusalOf(url, { ...silent, connectTimeout }), messageOf("could not be loaded"))
    })
  )
  it.live("counts the bytes of repeated images each time", () =>
    Effect.gen(function* () {
      const { port, url } = yield* serving(sends(Buffer.concat([png, Buffer.alloc(17 * mebibyte)])))
      const request = requestOf(image(url), image(url))
      const failure = yield* Effect.flip(inlined(request, testOptions(port)))
      assert.strictEqual(failure.message, messageOf("makes the images of the request too large together"))
    })
  )
  refuses("reports a connection that breaks", "could not be loaded", (response) => response.destroy())
  refuses("reports a missing image", "was not found", sends(png, { "content-type": "image/png" }, 404))
  refuses(
    "reports an error status",
    "could not be loaded (status 403)",
    sends(png, { "content-type": "image/png" }, 403)
  )
  refuses(
    "refuses a partial answer",
    "could not be loaded (status 206)",
    sends(png, { "content-type": "image/png" }, 206)
  )
  refuses("refuses a redirect without a location", "could not be loaded (status 302)", sends(png, {}, 302))
  refuses(
    "refuses a compressed body",
    "is sent compressed",
    sends(gzipSync(Buffer.alloc(mebibyte)), {
      "content-type": "image/png",
      "content-encoding": "gzip"
    })
  )
  refuses("refuses a web page", "is not of type JPEG, PNG, GIF or WebP", sends(png, { "content-type": "text/html" }))
  refuses("refuses an SVG", "is not of type JPEG, PNG, GIF or WebP", sends(png, { "content-type": "image/svg+xml" }))
  refuses(
    "refuses a web page without a media type",
    "is not a JPEG, PNG, GIF or WebP",
    sends(Buffer.from("<html>"), {})
  )
  refuses("refuses bytes of another type than declared", "is not the image/png it claims", sends(jpeg))
  refuses(
    "refuses a web page that is declared as an image",
    "is not the image/png it claims",
    sends(Buffer.from("<html>"))
  )
  refuses("takes no empty image", "is not the image/png it claims", sends(Buffer.alloc(0)))
})
