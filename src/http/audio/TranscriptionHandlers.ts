/**
 * `POST /v1/audio/transcriptions`. A file stays in memory from its upload until it is transcribed, so the number of
 * requests in that state is limited. A request occupies one of these slots from the moment when its body begins to
 * arrive; until it has one, no more is read of its body than its socket buffers.
 */
import { hash } from "node:crypto"

import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { audioLengthOf } from "../../domain/AudioLength.ts"
import type { Caller } from "../../domain/Caller.ts"
import type { RequestId } from "../../domain/Ids.ts"
import type { TranscriptionRequest } from "../../domain/Transcription.ts"
import { ChooseTranscriptionTargets } from "../../gateway/ChooseTranscriptionTargets.ts"
import { TranscribeAudio, type TranscriptionCall } from "../../gateway/TranscribeAudio.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { observed } from "../../observability/MetricSeries.ts"
import { metricTable } from "../../observability/MetricTable.ts"
import { currentRequestId } from "../edge/Edge.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { RequestBodies } from "../edge/RequestBodies.ts"
import { adjustedHeader, withRetryAfter } from "../edge/ResponseHeaders.ts"
import { answerAs } from "./TranscriptionAnswer.ts"
import * as TranscriptionForm from "./TranscriptionForm.ts"
import * as UploadForm from "./UploadForm.ts"
import { makeUploadSlots } from "./UploadSlots.ts"

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
      const bodies = yield* RequestBodies
      const slots = makeUploadSlots(options.maxUploads)
      yield* observed(metricTable.uploads, slots.occupied)
      yield* observed(metricTable.waitingUploads, slots.waiting)
      const partLimit = TranscriptionForm.partLimitFor(options.serviceName)

      const answer = Effect.fnUntraced(function* (
        request: HttpServerRequest.HttpServerRequest,
        reader: UploadForm.FormReader,
        caller: Caller,
        key: string | undefined
      ) {
        yield* bodies.rest(request, (bytes) => reader.write(bytes))
        const upload = yield* Effect.fromResult(reader.end())
        const form = yield* Effect.fromResult(TranscriptionForm.readTranscriptionForm(upload, options.serviceName))
        const candidates = yield* resolve(form.model)
        const format = yield* Effect.fromResult(TranscriptionForm.formatOf(form))
        const labels = yield* Effect.fromResult(TranscriptionForm.labelsOf(form))
        const idempotent: Idempotency.OptionalIdempotentRequest = {
          key,
          body: key === undefined ? emptyBody : fingerprintOf(form, format, labels),
          organization: caller.organization,
          endpoint: "audio.transcriptions",
          request: yield* currentRequestId
        }
        const callOf = (id: RequestId): TranscriptionCall => ({
          id,
          mayBeCharged: id !== idempotent.request,
          caller,
          candidates,
          request: requestOf(form),
          ...labels
        })
        const { adjusted, body, contentType } = yield* Idempotency.answerOnce(recorded, idempotent, (id) =>
          Effect.map(audio.transcribe(callOf(id)), (result) => answerAs(format, result))
        )
        const headers = adjustedHeader(options.serviceName, adjusted)
        return HttpServerResponse.uint8Array(body, { contentType, headers })
      })

      return handlers.handleRaw(
        "transcriptions",
        Effect.fnUntraced(function* ({ request }) {
          const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(request.headers))
          const reader = yield* Effect.fromResult(UploadForm.formReaderFor(request.headers, partLimit))
          const caller = yield* CurrentCaller
          yield* bodies.begin(request)
          return yield* slots.withSlot(caller.organization, answer(request, reader, caller, key))
        }, withRetryAfter)
      )
    })
  )

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
