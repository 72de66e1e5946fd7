/** Requests for a transcription, and a strict parser for the multipart forms that they become. */
import { assert } from "@effect/vitest"

import type { AudioExtension, TranscriptionRequest } from "../../src/domain/Transcription.ts"

export const recording = (
  over: Partial<Omit<TranscriptionRequest, "file">> = {},
  extension: AudioExtension = "wav",
  bytes: Uint8Array = Uint8Array.from([82, 73, 70, 70, 0, 255, 13, 10])
): TranscriptionRequest => ({
  file: { name: `speech.${extension}`, extension, bytes },
  length: { millis: 1_000, basis: "size" },
  temperature: 0,
  ...over
})

export interface FormPart {
  readonly headers: ReadonlyArray<string>
  readonly body: Buffer
}

/** The parts of a form, read strictly by RFC 7578: a misplaced byte fails the test. */
export const partsOf = (contentType: string | undefined, body: Buffer): ReadonlyArray<FormPart> => {
  const [, boundary] = /^multipart\/form-data; boundary=([\w'()+,./:=?-]{1,70})$/.exec(contentType ?? "") ?? []
  assert.isDefined(boundary, `content type ${contentType}`)
  const text = body.toString("latin1")
  const pieces = text.split(`--${boundary}`)
  assert.strictEqual(pieces[0], "")
  assert.strictEqual(pieces.at(-1), "--\r\n")
  return pieces.slice(1, -1).map((piece) => {
    const end = piece.indexOf("\r\n\r\n")
    assert.isTrue(
      piece.startsWith("\r\n") && piece.endsWith("\r\n") && end > 0,
      "a part begins and ends with a line break"
    )
    return {
      headers: piece.slice(2, end).split("\r\n"),
      body: Buffer.from(piece.slice(end + 4, -2), "latin1")
    }
  })
}
