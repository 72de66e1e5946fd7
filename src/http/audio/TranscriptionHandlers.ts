/**
 * `POST /v1/audio/transcriptions`. A file stays in memory from its upload until it is transcribed, so the number of
 * requests in that state is limited, and a request beyond the limit is refused before its body is read.
 */
import { hash } from "node:crypto"

import { Duration, Effect, Option, Semaphore } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { RateLimitExceeded } from "../../api/Errors.ts"
import { audioLengthOf } from "../../domain/AudioLength.ts"
import type { RequestId } from "../../domain/Ids.ts"
import type { TranscriptionRequest } from "../../domain/Transcription.ts"
import { ChooseTranscriptionTargets } from "../../gateway/ChooseTranscriptionTargets.ts"
import { TranscribeAudio, type TranscriptionCall } from "../../gateway/TranscribeAudio.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { CurrentRequestId } from "../edge/Edge.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { withRetryAfter } from "../edge/ResponseHeaders.ts"
import { answerAs } from "./TranscriptionAnswer.ts"
import * as TranscriptionForm from "./TranscriptionForm.ts"
import * as UploadForm from "./UploadForm.ts"

export interface TranscriptionOptions {
  readonly serviceName: string
  /** How many requests may have their file in memory at the same time. */
  readonly maxUploads: number
}

export const transcriptionHandlersLayer = (options: TranscriptionOptions) =>
  HttpApiBuilder.group(Api, "audio", (handlers) =>
    Effect.gen(function* () {
      const audio = yield* TranscribeAudio
      const { resolve } = yield* ChooseTranscriptionTargets
      const recorded = yield* RecordedAnswers
      const slots = yield* Semaphore.make(options.maxUploads)
      const partLimit = TranscriptionForm.partLimitFor(options.serviceName)

      const answer = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
        const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(request.headers))
        const upload = yield* UploadForm.readUpload(request, partLimit)
        const form = yield* Effect.fromResult(TranscriptionForm.readTranscriptionForm(upload, options.serviceName))
        const candidates = yield* resolve(form.model)
        const format = yield* Effect.fromResult(TranscriptionForm.formatOf(form))
        const labels = yield* Effect.fromResult(TranscriptionForm.labelsOf(form))
        const caller = yield* CurrentCaller
        const idempotent: Idempotency.OptionalIdempotentRequest = {
          key,
          body: key === undefined ? emptyBody : fingerprintOf(form, format, labels),
          organization: caller.organization,
          endpoint: "audio.transcriptions",
          request: yield* CurrentRequestId
        }
        const callOf = (id: RequestId): TranscriptionCall => ({
          id,
          mayBeCharged: id !== idempotent.request,
          caller,
          candidates,
          request: requestOf(form),
          ...labels
        })
        const { body, contentType } = yield* Idempotency.answerOnce(recorded, idempotent, (id) =>
          Effect.map(audio.transcribe(callOf(id)), answerAs[format])
        )
        return HttpServerResponse.uint8Array(body, { contentType })
      })

      return handlers.handleRaw("transcriptions", ({ request }) =>
        slots
          .withPermitsIfAvailable(1)(answer(request))
          .pipe(
            Effect.flatMap(Option.match({ onNone: () => Effect.fail(tooManyUploads()), onSome: Effect.succeed })),
            withRetryAfter
          )
      )
    })
  )

const tooManyUploads = () =>
  RateLimitExceeded.of("Too many files are being transcribed at the moment; try again", Duration.seconds(1))

const emptyBody = new Uint8Array()

const requestOf = (form: TranscriptionForm.TranscriptionForm): TranscriptionRequest => ({
  file: form.file,
  length: audioLengthOf(form.file),
  temperature: form.temperature,
  ...(form.language !== undefined && { language: form.language }),
  ...(form.prompt !== undefined && { prompt: form.prompt })
})

/**
 * Identifies the content of a form, so that a repeated request can be recognised. The bytes of the body would not do,
 * because a client that sends the same form again separates its parts by another boundary.
 */
const fingerprintOf = (
  { file, language, model, prompt, temperature }: TranscriptionForm.TranscriptionForm,
  format: TranscriptionForm.TranscriptionFormat,
  { callName, endUserId }: TranscriptionForm.Labels
): Uint8Array =>
  Buffer.from(
    JSON.stringify([
      [file.name, hash("sha256", file.bytes)],
      ...[model, language, prompt, temperature, format, callName, endUserId].map((value) => value ?? null)
    ])
  )
