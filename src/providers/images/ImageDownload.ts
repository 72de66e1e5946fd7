/**
 * Downloads one image from a URL that a client gave us. Nothing about it can be trusted: neither the URL and its
 * redirects, nor the length and the media type of the answer. So each of them is checked where it is used, and the
 * media type has to agree with the bytes.
 */
import { Data, Effect, Function, Result, Stream } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"

import { ForbiddenAddress } from "../../network/PublicSockets.ts"

/**
 * The image cannot be used. `why` completes a sentence that begins with the image, and contains neither an address nor
 * anything of the answer's body.
 */
export class UnusableImage extends Data.TaggedError("UnusableImage")<{ readonly why: string }> {}

/** Counts bytes that have arrived. False when they exceed what all images of the request may have together. */
export type CountBytes = (bytes: number) => boolean

const mebibyte = 1024 * 1024
/** The largest image. */
const maxImageBytes = 20 * mebibyte
const maxRedirects = 3
/** The longest URL, in characters. */
const maxUrlLength = 8_192

/** The first bytes of each supported type, read as Latin-1. */
const signatures: ReadonlyMap<string, RegExp> = new Map([
  ["image/jpeg", /^\u00ff\u00d8\u00ff/],
  ["image/png", /^\u0089PNG\r\n/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s]
])
const signatureLength = 12

const headers = {
  accept: [...signatures.keys()].join(", "),
  "accept-encoding": "identity",
  "user-agent": "tollgate"
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const unusable = (why: string) => Effect.fail(new UnusableImage({ why }))

/** Checks the URL of an image before anything is sent to it. With `from`, it is where that URL redirects to. */
export const checkedUrl = (
  text: string,
  ports: ReadonlyArray<number>,
  from?: URL
): Result.Result<URL, UnusableImage> => {
  const refuse = (why: string) => Result.fail(new UnusableImage({ why }))
  if (text.length > maxUrlLength) return refuse(`has a URL of more than ${maxUrlLength} characters`)
  const url = URL.parse(text, from)
  if (url === null) return refuse("has a malformed URL")
  if (url.protocol !== "https:" && url.protocol !== "http:") return refuse("has a URL that is neither https nor http")
  if (from?.protocol === "https:" && url.protocol === "http:") return refuse("redirects from https to http")
  if (url.username !== "" || url.password !== "") return refuse("has a URL with credentials in it")
  // The port is empty when it is the default of the scheme.
  if (url.port !== "" && !ports.includes(Number(url.port)))
    return refuse(`has a URL with a port other than ${ports.join(" and ")}`)
  return Result.succeed(url)
}

/** Makes a function that downloads an image as a data URI. `client` has to refuse forbidden addresses itself. */
export const makeImageDownload = (client: HttpClient.HttpClient, ports: ReadonlyArray<number>) => {
  const scoped = HttpClient.withScope(client)

  /** Sends one request. The scope closes the connection, even if the answer has not been read to its end. */
  const fetchOnce = Effect.fnUntraced(
    function* (url: URL, countBytes: CountBytes) {
      const response = yield* scoped.execute(
        HttpClientRequest.get(url.href).pipe(HttpClientRequest.setHeaders(headers))
      )
      const location = response.headers["location"]
      if (redirects.has(response.status) && location !== undefined) return { location }
      return { image: yield* dataUriOf(response, countBytes) }
    },
    Effect.scoped,
    Effect.catchTag("HttpClientError", (error) => unusable(reasonOf(error))),
    // A span of the client would contain the URL, which may be signed, and would send its trace id to that host.
    Effect.provideService(HttpClient.TracerDisabledWhen, Function.constTrue)
  )

  return Effect.fnUntraced(function* (text: string, countBytes: CountBytes) {
    let url = yield* Effect.fromResult(checkedUrl(text, ports))
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const answer = yield* fetchOnce(url, countBytes)
      if (answer.image !== undefined) return answer.image
      url = yield* Effect.fromResult(checkedUrl(answer.location, ports, url))
    }
    return yield* unusable(`redirects more than ${maxRedirects} times`)
  })
}

const reasonOf = (error: HttpClientError.HttpClientError): string =>
  error.reason.cause instanceof ForbiddenAddress ? "is not public" : "could not be loaded"

const dataUriOf = Effect.fnUntraced(function* (
  response: HttpClientResponse.HttpClientResponse,
  countBytes: CountBytes
) {
  const { headers, status, stream } = response
  if (status === 404 || status === 410) return yield* unusable("was not found")
  if (status !== 200) return yield* unusable(`could not be loaded (status ${status})`)
  if ((headers["content-encoding"] ?? "identity") !== "identity") return yield* unusable("is sent compressed")
  const declared = typeOf(headers["content-type"] ?? "")
  if (!signatures.has(declared) && !unspecificTypes.has(declared))
    return yield* unusable("is not of type JPEG, PNG, GIF or WebP")

  const packets: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEach(stream, (packet) => {
    size += packet.length
    if (size > maxImageBytes) return unusable(`is larger than ${maxImageBytes / mebibyte} MiB`)
    if (!countBytes(packet.length)) return unusable("makes the images of the request too large together")
    packets.push(packet)
    return Effect.void
  })
  const bytes = Buffer.concat(packets)
  const start = bytes.toString("latin1", 0, signatureLength)
  const type = Array.from(signatures).find(([, signature]) => signature.test(start))?.[0]
  if (unspecificTypes.has(declared) ? type === undefined : type !== declared) {
    return yield* unusable(
      unspecificTypes.has(declared) ? "is not a JPEG, PNG, GIF or WebP" : `is not the ${declared} it claims`
    )
  }
  return `data:${type};base64,${bytes.toString("base64")}`
})

/** What file stores send for files whose type they do not know. The bytes alone decide then. */
const unspecificTypes: ReadonlySet<string> = new Set(["", "application/octet-stream", "binary/octet-stream"])

/** The media type without its parameters. Some servers have a wrong name for JPEG, which is corrected. */
const typeOf = (contentType: string): string => {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  return type === "image/jpg" ? "image/jpeg" : type
}
