/**
 * `POST /v1/audio/transcriptions`. A file is in memory from its upload to the end of its transcription, so only so many
 * requests get that far at a time, and the next one is refused before its body is read.
 */
import { hash } from "node:crypto"

import { Duration, Effect, Option, Semaphore } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { RateLimitExceeded } from "../../api/Errors.ts"
import type * as Wire from "../../api/Transcription.ts"
import { lengthOf } from "../../domain/AudioLength.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { toUsdNumber } from "../../domain/Money.ts"
import type { TranscriptionRequest } from "../../domain/Transcription.ts"
import { promptTokens } from "../../domain/Usage.ts"
import { ChooseTranscriptionTargets } from "../../gateway/ChooseTranscriptionTargets.ts"
import { TranscribeAudio, type TranscriptionCall, type TranscriptionResult } from "../../gateway/TranscribeAudio.ts"
import type { RecordedAnswer } from "../../idempotency/IdempotentRequest.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { withRetryAfter } from "../edge/ResponseHeaders.ts"
import * as TranscriptionForm from "./TranscriptionForm.ts"
import * as UploadForm from "./UploadForm.ts"

export interface TranscriptionOptions {
  readonly serviceName: string
  /** Requests whose file may be in memory at a time. */
  readonly maxUploads: number
}

export const transcriptionHandlersLayer = (options: TranscriptionOptions) =>
  HttpApiBuilder.group(Api, "audio", (handlers) =>
    Effect.gen(function* () {
      const audio = yield* TranscribeAudio
      const transcribersOf = (yield* ChooseTranscriptionTargets).resolve
      const recorded = yield* RecordedAnswers
      const slots = yield* Semaphore.make(options.maxUploads)
      const wanted = TranscriptionForm.partLimitFor(options.serviceName)

      const answer = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
        const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(request.headers))
        const upload = yield* UploadForm.readUpload(request, wanted)
        const form = yield* Effect.fromResult(TranscriptionForm.readTranscriptionForm(upload, options.serviceName))
        const candidates = yield* transcribersOf(form.model)
        const format = yield* Effect.fromResult(TranscriptionForm.formatOf(form))
        const labels = yield* Effect.fromResult(TranscriptionForm.labelsOf(form))
        const caller = yield* CurrentCaller
        const callOf = (id: RequestId): TranscriptionCall => ({
          id,
          caller,
          candidates,
          request: requestOf(form),
          ...labels
        })
        const asked: Idempotency.OptionalIdempotentRequest = {
          key,
          body: key === undefined ? nothing : essenceOf(form, format, labels),
          organization: caller.organization,
          endpoint: "audio.transcriptions",
          request: yield* CurrentRequest
        }
        const { body, contentType } = yield* Idempotency.answerOnce(recorded, asked, (id) =>
          Effect.map(audio.transcribe(callOf(id)), answerIn[format])
        )
        return HttpServerResponse.uint8Array(body, { contentType })
      })

      return handlers.handleRaw("transcriptions", ({ request }) =>
        slots
          .withPermitsIfAvailable(1)(answer(request))
          .pipe(
            Effect.flatMap(Option.match({ onNone: () => Effect.fail(busy()), onSome: Effect.succeed })),
            withRetryAfter
          )
      )
    })
  )

const busy = () =>
  RateLimitExceeded.of("Too many files are being transcribed at the moment; try again", Duration.seconds(1))

const nothing = new Uint8Array()

const requestOf = (form: TranscriptionForm.TranscriptionForm): TranscriptionRequest => ({
  file: form.file,
  length: lengthOf(form.file),
  temperature: form.temperature,
  ...(form.language !== undefined && { language: form.language }),
  ...(form.prompt !== undefined && { prompt: form.prompt })
})

/**
 * What makes a request the same as an earlier one. Not its bytes: a client that repeats a form parts it by another
 * boundary.
 */
const essenceOf = (
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

const bodyOf = ({ cost, length, text, usage }: TranscriptionResult): Wire.Transcription => {
  const input = promptTokens(usage)
  return {
    text,
    usage: {
      type: "tokens",
      seconds: length.millis / 1_000,
      input_tokens: input,
      output_tokens: usage.output,
      total_tokens: input + usage.output,
      cost: toUsdNumber(cost)
    }
  }
}

const answerIn: {
  readonly [Format in TranscriptionForm.TranscriptionFormat]: (transcribed: TranscriptionResult) => RecordedAnswer
} = {
  json: (transcribed) => ({ contentType: "application/json", body: Buffer.from(JSON.stringify(bodyOf(transcribed))) }),
  text: ({ text }) => ({ contentType: "text/plain; charset=utf-8", body: Buffer.from(text) })
}
