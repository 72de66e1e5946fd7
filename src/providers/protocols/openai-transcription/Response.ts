/** A transcript from the provider's answer: `text`, and in some answers `usage`. */
import { Result } from "effect"

import { broken, type Failure } from "../../../domain/Failure.ts"
import type { Transcript } from "../../../domain/Transcription.ts"
import { asObject } from "../shared/Field.ts"
import { failureInBody } from "./Errors.ts"
import { usageIn } from "./Usage.ts"

/** The transcript of silence is an empty text; an answer without any text is broken. */
export const decode = (body: unknown): Result.Result<Transcript, Failure> => {
  const fields = asObject(body)
  if (fields === undefined) return Result.fail(broken("The provider's answer is not a JSON object."))
  const failure = failureInBody(fields)
  if (failure !== undefined) return Result.fail(failure)
  const { text } = fields
  // Whisper begins its texts with a space.
  return typeof text === "string"
    ? Result.succeed({ text: text.trim(), usage: usageIn(fields) })
    : Result.fail(broken("The provider's answer has no text."))
}
