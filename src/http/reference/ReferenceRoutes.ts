/**
 * `/openapi.json`, and `/docs` with its style sheet and script. All of them are made, compressed and named by their
 * content once, when the first of them is asked for, because a start would wait for them; nothing is loaded from
 * another host, and the policy of the page forbids it.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

import { Effect, Struct } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"

import { documentPaths } from "../../api/Api.ts"

const styleSheets = ["base", "frame", "text", "samples", "print"]

const ownFile = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8")

/** A file in the form in which it is sent. */
interface ServedFile {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
  readonly bodies: { readonly [encoding in "br" | "gzip" | "identity"]: Uint8Array }
}

/** The best quality takes a hundred times as long, for a tenth less. */
const brotliQuality = 5

const servedFile = (contentType: string, text: string, headers: Readonly<Record<string, string>> = {}): ServedFile => {
  const identity = Buffer.from(text)
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length
  }
  return {
    contentType,
    headers: { "x-content-type-options": "nosniff", vary: "accept-encoding", ...headers },
    etag: `"${versionOf(text)}"`,
    bodies: { br: brotliCompressSync(identity, { params }), gzip: gzipSync(identity), identity }
  }
}

/** Names a content: the same text has the same name, wherever it is served. */
const versionOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16)

/** The page runs its own script and nothing else, and no other site can frame it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'"
].join("; ")

/** `encoding;q=0` refuses an encoding; other weights are not compared. */
const encodingFor = (accepted: string): keyof ServedFile["bodies"] => {
  const named = accepted
    .toLowerCase()
    .split(",")
    .map((part) => part.trim())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(";")[0])
  return named.includes("br") ? "br" : named.includes("gzip") ? "gzip" : "identity"
}

/** Caches keep a file for ever under the name of its content, and ask again for it under any other. */
const cacheControl = (url: string, file: ServedFile): string =>
  new URLSearchParams(url.split("?")[1]).get("v") === file.etag.slice(1, -1)
    ? "public, max-age=31536000, immutable"
    : "no-cache"

const respond = (file: ServedFile, request: HttpServerRequest.HttpServerRequest) => {
  const { bodies, contentType, etag } = file
  const headers = { ...file.headers, etag, "cache-control": cacheControl(request.url, file) }
  const known = request.headers["if-none-match"]?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? []
  if (known.includes(etag)) return Effect.succeed(HttpServerResponse.empty({ status: 304, headers }))
  const encoding = encodingFor(request.headers["accept-encoding"] ?? "")
  return Effect.succeed(
    HttpServerResponse.uint8Array(bodies[encoding], {
      contentType,
      headers: encoding === "identity" ? headers : { ...headers, "content-encoding": encoding }
    })
  )
}

/** The four files. Addresses in the page are relative to it, so that it works behind any prefix of the path. */
const filesFor = async (
  serviceName: string
): Promise<{ readonly [Name in keyof typeof documentPaths]: ServedFile }> => {
  const [{ publishedApi }, { referencePage }] = await Promise.all([
    import("./PublishedApi.ts"),
    import("./ReferencePage.ts")
  ])
  const document = publishedApi(serviceName)
  const style = styleSheets.map((name) => ownFile(`style/${name}.css`)).join("\n")
  const script = ownFile("reference.js")
  const page = referencePage(document, {
    styleSheet: `${documentPaths.styleSheet.slice(1)}?v=${versionOf(style)}`,
    script: `${documentPaths.script.slice(1)}?v=${versionOf(script)}`,
    openApi: documentPaths.openApi.slice(1)
  })
  return {
    openApi: servedFile("application/json", JSON.stringify(document)),
    reference: servedFile("text/html; charset=utf-8", page, {
      "content-security-policy": contentSecurityPolicy,
      "referrer-policy": "no-referrer"
    }),
    styleSheet: servedFile("text/css; charset=utf-8", style),
    script: servedFile("text/javascript; charset=utf-8", script)
  }
}

/** Suites start many gateways of one name in one process. */
const made = new Map<string, ReturnType<typeof filesFor>>()

const filesOf = (serviceName: string): ReturnType<typeof filesFor> => {
  const files = made.get(serviceName) ?? filesFor(serviceName)
  made.set(serviceName, files)
  return files
}

/** The routes of `documentPaths`. */
export const referenceLayer = (serviceName: string) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      for (const name of Struct.keys(documentPaths)) {
        yield* router.add("GET", documentPaths[name], (request) =>
          Effect.flatMap(
            Effect.promise(() => filesOf(serviceName)),
            (files) => respond(files[name], request)
          )
        )
      }
    })
  )
