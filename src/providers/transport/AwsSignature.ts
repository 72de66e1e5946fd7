/**
 * AWS Signature Version 4. A signature covers the host, the body and the time, and AWS refuses one that is more than
 * five minutes old, so every attempt is signed anew.
 */
import { createHash, createHmac, type Hash, type Hmac } from "node:crypto"

import { SignatureV4 } from "@smithy/signature-v4"
import { DateTime, Effect } from "effect"

export interface Signer {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Only temporary credentials have one. */
  readonly sessionToken?: string
  readonly region: string
  readonly service: string
}

export interface Signable {
  readonly url: string
  readonly body: string
  readonly contentType: string
}

/** The headers that sign this POST with the current time. */
export const signedHeaders = Effect.fnUntraced(function* (
  { region, service, ...credentials }: Signer,
  request: Signable
) {
  const url = new URL(request.url)
  const now = yield* DateTime.now
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256 })
  // The promise is never pending for long: the signer computes, and asks nobody.
  const signed = yield* Effect.promise(() =>
    signer.sign(
      {
        method: "POST",
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: { host: url.host, "content-type": request.contentType },
        body: request.body
      },
      { signingDate: DateTime.toDateUtc(now) }
    )
  )
  const { host: _host, "content-type": _contentType, ...headers } = signed.headers
  return headers
})

/** Node's SHA-256, or its HMAC when there is a secret, with the interface that the signer expects. */
class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data))
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest())
  }

  reset(): void {}
}

const bytesOf = (data: string | ArrayBuffer | ArrayBufferView): Uint8Array | string => {
  if (typeof data === "string") return data
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}
