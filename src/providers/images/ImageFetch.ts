/**
 * Replaces the URLs of images with their bytes, for providers that take images only as bytes. The requests for them are
 * sent from inside our network to hosts that a client chose: they may reach public addresses only, and their number,
 * time and size are limited. A failure is always the client's. It names the image that cannot be used, and reveals
 * nothing about the host.
 */
import { Context, Duration, Effect, Layer, Semaphore } from "effect"

import type { ChatRequest, Message } from "../../domain/Conversation.ts"
import { Failure } from "../../domain/Failure.ts"
import { isPublic } from "../../network/PublicAddress.ts"
import * as PublicSockets from "../../network/PublicSockets.ts"
import * as ImageDownload from "./ImageDownload.ts"

/** Images that one request may have by URL, repetitions included, as each of them adds its bytes to what we send. */
const maxImages = 20
/** The bytes of all images of a request together, before base64. */
const maxRequestBytes = 32 * 1024 * 1024
/** Downloads at the same time, for one request and in this process. */
const maxPerRequest = 4
const maxPerProcess = 16
/** For all images of a request, the wait for a free download included. */
const requestTimeout = Duration.seconds(30)

export interface ImageFetchOptions extends PublicSockets.GuardOptions {
  /** Ports that a URL may name. */
  readonly ports: ReadonlyArray<number>
  /** For one image, redirects included. */
  readonly imageTimeout: Duration.Duration
}

export class ImageFetch extends Context.Service<
  ImageFetch,
  {
    /** The request with every image as a data URI. The same object if there is nothing to load. */
    readonly inlined: (request: ChatRequest) => Effect.Effect<ChatRequest, Failure>
  }
>()("tollgate/providers/images/ImageFetch") {
  static readonly layer = (options: Partial<ImageFetchOptions> = {}) =>
    Layer.effect(
      ImageFetch,
      Effect.suspend(() =>
        make({
          ports: [80, 443],
          isAllowed: isPublic,
          resolve: PublicSockets.nameServerLookup(),
          connectTimeout: Duration.seconds(5),
          imageTimeout: Duration.seconds(15),
          ...options
        })
      )
    )
}

const make = Effect.fnUntraced(function* (options: ImageFetchOptions) {
  const download = ImageDownload.makeImageDownload(yield* PublicSockets.guardedClient(options), options.ports)
  const downloads = yield* Semaphore.make(maxPerProcess)

  const load = (image: RemoteImage, countBytes: ImageDownload.CountBytes) =>
    download(image.url, (bytes) => countBytes(bytes * image.positions.length)).pipe(
      Effect.timeoutOrElse({
        duration: options.imageTimeout,
        orElse: () => Effect.fail(new ImageDownload.UnusableImage({ why: "did not load in time" }))
      }),
      downloads.withPermit,
      Effect.map((dataUri) => [image.url, dataUri] as const),
      Effect.mapError(({ why }) => unsupported(`The image at ${image.positions[0]} ${why}.`))
    )

  return ImageFetch.of({
    inlined: Effect.fn("ImageFetch.inlined")(function* (request) {
      const images = remoteImages(request)
      if (images.length === 0) return request
      if (images.reduce((sum, { positions }) => sum + positions.length, 0) > maxImages)
        return yield* unsupported(`The request has more than ${maxImages} images given by URL.`)
      let bytesLeft = maxRequestBytes
      const countBytes = (bytes: number) => (bytesLeft -= bytes) >= 0
      const loaded = yield* Effect.forEach(images, (image) => load(image, countBytes), {
        concurrency: maxPerRequest
      }).pipe(
        Effect.timeoutOrElse({
          duration: requestTimeout,
          orElse: () => Effect.fail(unsupported("The images of the request did not load in time."))
        })
      )
      return withImages(request, new Map(loaded))
    })
  })
})

interface RemoteImage {
  readonly url: string
  /** Where the request has it, as JSON paths. There is at least one. */
  readonly positions: ReadonlyArray<string>
}

const isDataUri = (url: string): boolean => /^data:/i.test(url)

/** Every image that is given by URL, with equal URLs once. */
const remoteImages = (request: ChatRequest): ReadonlyArray<RemoteImage> => {
  const found = request.messages.flatMap((message, messageIndex) =>
    message.content.flatMap((part, index) =>
      part.type === "image" && !isDataUri(part.url)
        ? [{ url: part.url, position: `messages[${messageIndex}].content[${index}]` }]
        : []
    )
  )
  return [...Map.groupBy(found, ({ url }) => url)].map(([url, occurrences]) => ({
    url,
    positions: occurrences.map(({ position }) => position)
  }))
}

const withImages = (request: ChatRequest, dataUris: ReadonlyMap<string, string>): ChatRequest => ({
  ...request,
  messages: request.messages.map((message): Message => {
    if (message.role !== "user" && message.role !== "tool") return message
    const content = message.content.map((part) =>
      part.type === "image" ? { ...part, url: dataUris.get(part.url) ?? part.url } : part
    )
    return { ...message, content }
  })
})

/** This failure fails over, because another target may take the URL itself. */
const unsupported = (message: string): Failure => new Failure({ reason: { _tag: "Unsupported" }, message })
