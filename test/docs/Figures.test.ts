/** Figures and lists in the documentation that the code has as constants. */
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"

import { axes } from "../../src/catalog/Model.ts"
import { dialectNames } from "../../src/catalog/Provider.ts"
import { audioExtensions } from "../../src/domain/Transcription.ts"
import { maxFileBytes, maxTextBytes } from "../../src/http/audio/TranscriptionForm.ts"
import { maxFormBytes, maxParts } from "../../src/http/audio/UploadForm.ts"
import { maxContainers, maxDepth } from "../../src/http/edge/JsonBody.ts"
import { defaultFailoverLimits } from "../../src/providers/dispatch/FailoverRules.ts"
import { defaultTimeouts } from "../../src/providers/transport/Timeouts.ts"
import { bandWidth } from "../../src/routing/Bands.ts"
import { pinLifetime } from "../../src/routing/SessionPins.ts"
import { pages } from "./DocumentPages.ts"

const seconds = (duration: Duration.Duration): string => `${Duration.toSeconds(duration)} seconds`
const minutes = (duration: Duration.Duration): string => `${Duration.toMinutes(duration)} minutes`
const mebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`
const listed = (names: ReadonlyArray<string>, last: string): string =>
  `${names
    .slice(0, -1)
    .map((name) => `\`${name}\``)
    .join(", ")} ${last} \`${names.at(-1)}\``
const { backoff, deadline, longestWait, tries, triesPerTarget } = defaultFailoverLimits
const words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

/** Each text must stand in its page, wherever lines break. */
const figures: { readonly [page: string]: ReadonlyArray<string> } = {
  "docs/failover.md": [
    `until the connection is open, TLS included | ${seconds(defaultTimeouts.connect)} |`,
    `until the headers of a streamed answer | ${seconds(defaultTimeouts.firstByte)} |`,
    `only when it is complete | ${seconds(defaultTimeouts.firstBytePlain)} |`,
    `until the first output of a stream | ${seconds(defaultTimeouts.firstOutput)} |`,
    `silence between two packets | ${seconds(defaultTimeouts.silence)} |`,
    `one call, from the request to the last byte | ${minutes(defaultTimeouts.call)} |`,
    `all calls of a request, until some target answers | ${minutes(deadline)} |`,
    `a request makes ${words[tries]} calls at most`,
    `A target is tried ${triesPerTarget === 2 ? "twice" : triesPerTarget} at most`,
    `about ${Duration.toMillis(backoff)} ms, with jitter`,
    `asks for more than ${words[Duration.toSeconds(longestWait)]} seconds`
  ],
  "docs/transcription.md": [
    `extensions are ${listed(audioExtensions, "and")}`,
    `at most ${mebibytes(maxFileBytes)} (${maxFileBytes.toLocaleString("en")} bytes)`,
    `every other field at most ${maxTextBytes / 1024} KiB, and a form at most ${maxParts} parts`,
    `a form of more than ${mebibytes(maxFormBytes)}`
  ],
  "docs/errors.md": [`nest ${maxDepth} levels deep`, `hold ${maxContainers.toLocaleString("en")} objects and arrays`],
  "docs/routing.md": [`within ${bandWidth} of the best one`, listed(axes, "and")],
  "docs/sessions.md": [
    `ends ${Duration.toMinutes(pinLifetime) === 15 ? "fifteen" : "other"} minutes after its last use`
  ],
  "docs/protocols.md": [listed(dialectNames, "or").replace(" or ", ", or ")]
}

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, " ")

describe("Figures in the documentation", () => {
  it.each(Object.entries(figures))("of %s are those of the code", (path, texts) => {
    const page = onOneLine(pages.find((one) => one.path === path)?.text ?? "")
    for (const text of texts) assert.include(page, onOneLine(text))
  })
})
