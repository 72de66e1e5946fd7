/**
 * Puts images in place of their URLs, for providers that take images only as bytes. We then go to an address that a
 * client chose, from inside our network: only public addresses may be reached, and nothing that comes back may cost
 * more than its bound. A failure is always the client's: it says which image cannot be used, and never what is there.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Duration, Effect, Layer, Semaphore } from "effect"

import type { ChatRequest, Message } from "../../domain/Conversation.ts"
import { Failure } from "../../domain/Failure.ts"
import * as ImageDownload from "./ImageDownload.ts"
import { isPublic } from "./PublicAddress.ts"
import * as PublicSockets from "./PublicSockets.ts"

/** Images that one request may name by URL, repetitions included: each becomes bytes of what we send. */
const maxImages = 20
/** Bytes of all of them together, before base64. */
const maxRequestBytes = 32 * 1024 * 1024
/** Downloads at the same time for one request, and in this process. */
const maxPerRequest = 4
const maxPerProcess = 16
/** For all images of a request, the wait for their turn included. */
const requestPatience = Duration.seconds(30)

export interface ImageFetchOptions {
  /** Ports that a URL may name. */
  readonly ports: ReadonlyArray<number>
  /** Whether a connection may be made to this address. */
  readonly isAllowed: (address: string) => boolean
  readonly resolve: PublicSockets.Resolve
  /** Until a connection is open. */
  readonly connectPatience: Duration.Duration
  /** For one image, redirects included. */
  readonly imagePatience: Duration.Duration
}

export class ImageFetch extends Context.Service<
  ImageFetch,
  {
    /** The request with data URIs in place of all other image URLs; the same object when it has no others. */
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
          resolve: PublicSockets.nameServers(),
          connectPatience: Duration.seconds(5),
          imagePatience: Duration.seconds(15),
          ...options
        })
      )
    )
}

const make = Effect.fnUntraced(function* (options: ImageFetchOptions) {
  const download = ImageDownload.makeImageDownload(yield* guardedClient(options), options.ports)
  const turns = yield* Semaphore.make(maxPerProcess)

  const load = (image: RemoteImage, take: ImageDownload.Take) =>
    download(image.url, (bytes) => take(bytes * image.positions.length)).pipe(
      Effect.timeoutOrElse({
        duration: options.imagePatience,
        orElse: () => Effect.fail(new ImageDownload.Unusable({ why: "did not load in time" }))
      }),
      turns.withPermit,
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
      const take = (bytes: number) => (bytesLeft -= bytes) >= 0
      const loaded = yield* Effect.forEach(images, (image) => load(image, take), { concurrency: maxPerRequest }).pipe(
        Effect.timeoutOrElse({
          duration: requestPatience,
          orElse: () => Effect.fail(unsupported("The images of the request did not load in time."))
        })
      )
      return withImages(request, new Map(loaded))
    })
  })
})

/**
 * A client of its own, made here rather than provided: layers are shared by reference, and sharing the provider's
 * client would mean its sockets too, which go anywhere.
 */
const guardedClient = Effect.fnUntraced(function* (options: ImageFetchOptions) {
  const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
    connect: PublicSockets.connector({ ...options, patience: options.connectPatience }),
    // One request per connection: strangers' hosts are not worth an idle socket.
    pipelining: 0,
    allowH2: false
  })
  return yield* NodeHttpClient.makeUndici.pipe(Effect.provideService(NodeHttpClient.Dispatcher, dispatcher))
})

interface RemoteImage {
  readonly url: string
  /** Where the request has it, as a client writes it. At least one. */
  readonly positions: ReadonlyArray<string>
}

const isDataUri = (url: string): boolean => /^data:/i.test(url)

/** Every image that is not here yet, equal ones once. */
const remoteImages = (request: ChatRequest): ReadonlyArray<RemoteImage> => {
  const found = request.messages.flatMap((message, at) =>
    message.content.flatMap((part, index) =>
      part.type === "image" && !isDataUri(part.url)
        ? [{ url: part.url, position: `messages[${at}].content[${index}]` }]
        : []
    )
  )
  return [...Map.groupBy(found, ({ url }) => url)].map(([url, places]) => ({
    url,
    positions: places.map(({ position }) => position)
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

/** Another target may take the URL itself. */
const unsupported = (message: string): Failure => new Failure({ reason: { _tag: "Unsupported" }, message })
