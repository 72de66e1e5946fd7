/** The forms that environment variables take. */
import { Config, Option, Schema } from "effect"

import { fromUsd, type Picodollars } from "../domain/Money.ts"

/** Members of answers and fields of uploads that a service of the same name would collide with. */
const completionMembers = ["id", "object", "created", "model", "choices", "usage", "error", "system_fingerprint"]
const uploadFields = ["file", "language", "prompt", "temperature", "response_format", "stream", "call_name", "metadata"]
const reservedNames = [...completionMembers, ...uploadFields]

export const ServiceName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_]{0,31}$/, { expected: "a name of lower-case letters, digits and underscores" }),
  Schema.makeFilter((name) => !reservedNames.includes(name), { expected: `none of ${reservedNames.join(", ")}` })
)

/** A key that could be guessed would open an account with credit; the bound on its length is that of the look-up. */
export const ApiKeyText = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{8,512}$/, {
    expected: "a key of 8 to 512 visible ASCII characters, such as one that `openssl rand -hex 32` makes"
  })
)

const UsdText = Schema.String.check(
  Schema.isPattern(/^\d{1,6}(\.\d{1,12})?$/, { expected: "an amount of USD such as 10 or 2.50" })
)

/** An amount of USD, in picodollars. */
export const Usd = (name: string): Config.Config<Picodollars> =>
  Config.schema(UsdText, name).pipe(Config.map((text) => Option.getOrThrow(fromUsd(text))))

/** A whole number of at least one. */
export const positive = (name: string): Config.Config<number> =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThanOrEqualTo(1)), name)

/** Where a gateway answers. */
export const GatewayUrl = Schema.String.check(
  Schema.isPattern(/^https?:\/\/[^\s?#@]+$/, { expected: "a URL such as https://gateway.example.com" })
)

/** Each worker is a process with connections of its own, so that a larger number is a mistake. */
const mostWorkers = 256

/** How many processes serve: a number, or as many as there are cores. */
export const WorkerCount = Schema.String.check(
  Schema.makeFilter((text) => text === "auto" || (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= mostWorkers), {
    expected: `auto or a number from 1 to ${mostWorkers}`
  })
)

/**
 * An origin as browsers send it: scheme and host in lower case, the port unless it is the usual one, and nothing behind
 * it. Extensions and apps have schemes of their own.
 */
const isOrigin = (text: string): boolean =>
  /^https?:/.test(text)
    ? URL.parse(text)?.origin === text
    : /^[a-z][a-z0-9+.-]{0,63}:\/\/[^\s/,?#@*]{1,253}$/.test(text)

const originsIn = (text: string): ReadonlyArray<string> => text.split(",").map((origin) => origin.trim())

/** `*`, or the origins of a list. */
export const CorsOrigins = Schema.String.check(
  Schema.makeFilter((text) => text.trim() === "*" || originsIn(text).every(isOrigin), {
    expected: "* or origins such as https://app.example.com with commas between them, without a path"
  })
)

/** The origins that the text lists. */
export const corsOriginsIn = (text: string): "*" | ReadonlySet<string> =>
  text.trim() === "*" ? "*" : new Set(originsIn(text))
