/**
 * Downloads one image from a URL that a client gave us. Everything about it is a stranger's word: the URL, where it
 * redirects to, the length and the type of the answer. So each is checked where it counts, and what the answer says of
 * itself is believed only as far as its bytes bear it out.
 */
import { Data, Effect, Function, Result, Stream } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"

import { ClosedAddress } from "./PublicSockets.ts"

/** `why` completes a sentence that begins with the image. It names no address and nothing of the answer's body. */
export class Unusable extends Data.TaggedError("Unusable")<{ readonly why: string }> {}

/** Counts bytes that have come; false when the request has had its share. */
export type Take = (bytes: number) => boolean

const mebibyte = 1024 * 1024
/** Bytes of one image. */
const maxImageBytes = 20 * mebibyte
const maxRedirects = 3
/** Characters of a URL. */
const maxUrlLength = 8_192

/** How the bytes of each type begin, read as Latin-1. */
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

const unusable = (why: string) => Effect.fail(new Unusable({ why }))

/** The URL of an image, or of where `from` redirects to, if it is one that we would ask at all. */
export const checkedUrl = (text: string, ports: ReadonlyArray<number>, from?: URL): Result.Result<URL, Unusable> => {
  const refuse = (why: string) => Result.fail(new Unusable({ why }))
  if (text.length > maxUrlLength) return refuse(`has a URL of more than ${maxUrlLength} characters`)
  const url = URL.parse(text, from)
  if (url === null) return refuse("has a malformed URL")
  if (url.protocol !== "https:" && url.protocol !== "http:") return refuse("has a URL that is neither https nor http")
  if (from?.protocol === "https:" && url.protocol === "http:") return refuse("redirects from https to http")
  if (url.username !== "" || url.password !== "") return refuse("has a URL with credentials in it")
  // The port is empty when it is the scheme's own.
  if (url.port !== "" && !ports.includes(Number(url.port)))
    return refuse(`has a URL with a port other than ${ports.join(" and ")}`)
  return Result.succeed(url)
}

/** Downloads through a client whose sockets reach only what may be reached; answers with a data URI. */
export const makeImageDownload = (client: HttpClient.HttpClient, ports: ReadonlyArray<number>) => {
  const scoped = HttpClient.withScope(client)

  /** One hop. The scope closes the connection, whatever is left of the answer. */
  const visit = Effect.fnUntraced(
    function* (url: URL, take: Take) {
      const response = yield* scoped.execute(
        HttpClientRequest.get(url.href).pipe(HttpClientRequest.setHeaders(headers))
      )
      const location = response.headers["location"]
      if (redirects.has(response.status) && location !== undefined) return { location }
      return { image: yield* dataUriOf(response, take) }
    },
    Effect.scoped,
    Effect.catchTag("HttpClientError", (error) => unusable(reasonOf(error))),
    // A span would carry the URL, which may be signed, and its trace would travel to a stranger.
    Effect.provideService(HttpClient.TracerDisabledWhen, Function.constTrue)
  )

  return Effect.fnUntraced(function* (text: string, take: Take) {
    let url = yield* Effect.fromResult(checkedUrl(text, ports))
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const answer = yield* visit(url, take)
      if (answer.image !== undefined) return answer.image
      url = yield* Effect.fromResult(checkedUrl(answer.location, ports, url))
    }
    return yield* unusable(`redirects more than ${maxRedirects} times`)
  })
}

const reasonOf = (error: HttpClientError.HttpClientError): string =>
  error.reason.cause instanceof ClosedAddress ? "is not public" : "could not be loaded"

const dataUriOf = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse, take: Take) {
  const { headers, status, stream } = response
  if (status === 404 || status === 410) return yield* unusable("was not found")
  if (status !== 200) return yield* unusable(`could not be loaded (status ${status})`)
  if ((headers["content-encoding"] ?? "identity") !== "identity") return yield* unusable("is sent compressed")
  const declared = typeOf(headers["content-type"] ?? "")
  if (!signatures.has(declared) && !untold.has(declared))
    return yield* unusable("is not of type JPEG, PNG, GIF or WebP")

  const packets: Array<Uint8Array> = []
  let size = 0
  yield* Stream.runForEach(stream, (packet) => {
    size += packet.length
    if (size > maxImageBytes) return unusable(`is larger than ${maxImageBytes / mebibyte} MiB`)
    if (!take(packet.length)) return unusable("makes the images of the request too large together")
    packets.push(packet)
    return Effect.void
  })
  const bytes = Buffer.concat(packets)
  const start = bytes.toString("latin1", 0, signatureLength)
  const type = Array.from(signatures).find(([, signature]) => signature.test(start))?.[0]
  if (untold.has(declared) ? type === undefined : type !== declared) {
    return yield* unusable(
      untold.has(declared) ? "is not a JPEG, PNG, GIF or WebP" : `is not the ${declared} it claims`
    )
  }
  return `data:${type};base64,${bytes.toString("base64")}`
})

/** What file stores send for files they know nothing about: the bytes alone decide. */
const untold: ReadonlySet<string> = new Set(["", "application/octet-stream", "binary/octet-stream"])

/** The media type without its parameters, with the name that some servers have for JPEG put right. */
const typeOf = (contentType: string): string => {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  return type === "image/jpg" ? "image/jpeg" : type
}
