/** The text of bodies and headers. What is not UTF-8 never reaches a model as something else. */
import { Result } from "effect"

import { InvalidRequest } from "../../api/Errors.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** JSON must be UTF-8. Other bytes would silently reach the model as replacement characters. */
export const utf8Text = (bytes: Uint8Array): Result.Result<string, InvalidRequest> =>
  Result.try({
    try: () => utf8.decode(bytes),
    catch: () => InvalidRequest.of("The request body is not valid UTF-8")
  })

/** Node reads every byte of a header as a character; a label is the same text in the header as in the body. */
export const headerText = (header: string | undefined): string | undefined => {
  if (header === undefined || /^[\x20-\x7e]*$/.test(header)) return header
  return Result.getOrElse(
    Result.try(() => utf8.decode(Buffer.from(header, "latin1"))),
    () => header
  )
}
