import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import {
  type UploadedForm,
  FormReader,
  maxFormBytes,
  maxParts,
  type PartLimit
} from "../../../src/http/audio/UploadForm.ts"
import { audioPart, field, type Multipart, multipart, type PartSpec } from "../../support/Multipart.ts"

const everything: PartLimit = () => 1024 * 1024

/** Reads a form in pieces of these sizes, which repeat; in one piece when there are none. */
const readIn = ({ body, contentType }: Multipart, sizes: ReadonlyArray<number>, partLimit = everything) => {
  const reader = new FormReader(contentType, partLimit, Number.NaN)
  for (let at = 0, piece = 0; at < body.length; piece++) {
    const size = sizes[piece % Math.max(1, sizes.length)] ?? body.length
    if (!reader.write(body.subarray(at, at + size))) break
    at += size
  }
  return reader.end()
}

const accepted = (
  result: Result.Result<UploadedForm, { readonly error: { readonly message: string } }>
): UploadedForm => (Result.isSuccess(result) ? result.success : assert.fail(result.failure.error.message))

const refusal = (result: Result.Result<UploadedForm, { readonly error: { readonly message: string } }>): string =>
  Result.isFailure(result) ? result.failure.error.message : assert.fail("accepted")

const partsOf = ({ parts }: UploadedForm) =>
  [...parts].map(([name, { bytes, filename, size, times }]) => [
    name,
    filename,
    Buffer.from(bytes).toString("latin1"),
    size,
    times
  ])

/** Contents made of pieces of boundaries, which a parser may mistake for one. */
const boundaryLike = Schema.Array(
  Schema.Literals(["\r", "\n", "\r\n", "-", "--", "--b", "b", "\r\n--", "\r\n--B", "é", "x"])
)

describe("FormReader", () => {
  it.prop(
    "reads the same parts however the body is divided, even when content looks like a boundary",
    { pieces: Schema.Array(boundaryLike), sizes: Schema.NonEmptyArray(Schema.Literals([1, 2, 3, 5, 8, 21, 4_096])) },
    ({ pieces, sizes }) => {
      const parts: ReadonlyArray<PartSpec> = pieces
        .slice(0, maxParts)
        .map((content, at) => ({ name: `p${at}`, filename: `${at}.wav`, content: content.join("") }))
      // Content that contains the whole boundary is another form.
      if (parts.some(({ content }) => `\r\n${content}`.includes("\r\n--bound"))) return
      const expected = parts.map(({ content, filename, name }) => {
        const text = Buffer.from(content).toString("latin1")
        return [name, filename, text, text.length, 1]
      })
      assert.deepStrictEqual(partsOf(accepted(readIn(multipart(parts, "bound"), sizes))), expected)
    }
  )

  it("keeps a part up to its limit, counts the rest, and ignores parts without a limit", () => {
    const form = multipart([
      field("small", "12345"),
      field("small", "again"),
      field("large", "123456"),
      field("unwanted", "x".repeat(100_000)),
      audioPart({ name: "counted", content: Buffer.alloc(70_000) }),
      field("none", "")
    ])
    const limits = new Map(Object.entries({ small: 5, large: 5, counted: 0, none: 5 }))
    for (const sizes of [[], [1], [7], [65_536]]) {
      assert.deepStrictEqual(partsOf(accepted(readIn(form, sizes, (name) => limits.get(name)))), [
        ["small", undefined, "12345", 5, 2],
        ["large", undefined, "", 6, 1],
        ["counted", "speech.wav", "", 70_000, 1],
        ["none", undefined, "", 0, 1]
      ])
    }
  })

  it("reads file names in all notations of clients", () => {
    const disposition = (parameters: string): PartSpec => ({
      name: "",
      head: `Content-Disposition: form-data; ${parameters}`,
      content: "x"
    })
    const cases: ReadonlyArray<readonly [parameters: string, filename: string | undefined]> = [
      ['name="f"', undefined],
      ["name=f; filename=a.wav", "a.wav"],
      ['name="f"; filename=""', ""],
      ['name="f"; filename="a b.wav"', "a b.wav"],
      ['filename="a.wav"; name="f"', "a.wav"],
      ['name="f"; filename="über 音声.wav"', "über 音声.wav"],
      [`name="f"; filename="x.wav"; filename*=UTF-8''%E9%9F%B3%20a.wav`, "音 a.wav"],
      ['name="f"; filename="C:\\temp\\a.wav"', "C:\\temp\\a.wav"],
      ['name="f"; filename="say \\"hi\\".wav"', 'say \\"hi\\".wav']
    ]
    for (const [parameters, filename] of cases) {
      for (const sizes of [[], [1]]) {
        const { parts } = accepted(readIn(multipart([disposition(parameters)]), sizes))
        assert.strictEqual(parts.get("f")?.filename, filename, parameters)
      }
    }
  })

  it("ignores text before the first boundary and after the last", () => {
    const { body, contentType } = multipart([field("a", "1")], "b")
    const after = multipart([field("b", "2")], "b").body
    for (const epilogue of ["", "\r\n", "bye: \u0000", "x".repeat(100_000), after.toString()]) {
      const whole = Buffer.concat([Buffer.from("hello\r\nthere\r\n"), body, Buffer.from(epilogue)])
      for (const sizes of [[], [1], [3]]) {
        const form = accepted(readIn({ body: whole, contentType }, sizes))
        assert.deepStrictEqual(partsOf(form), [["a", undefined, "1", 1, 1]])
      }
    }
  })

  it.each<readonly [name: string, form: Multipart, message: RegExp]>([
    ["no boundary", { ...multipart([audioPart()]), contentType: "multipart/form-data" }, /names no boundary/],
    ["nothing", { ...multipart([]), body: Buffer.alloc(0) }, /ends before its closing boundary/],
    [
      "another boundary",
      { ...multipart([audioPart()], "a"), contentType: multipart([], "b").contentType },
      /ends before/
    ],
    [
      "half a file",
      { ...multipart([audioPart()]), body: multipart([audioPart()]).body.subarray(0, 300) },
      /ends before/
    ],
    [
      "all but the last two bytes of the boundary",
      { ...multipart([audioPart()]), body: multipart([audioPart()]).body.subarray(0, -4) },
      /ends before/
    ],
    ["no name", multipart([{ name: "", head: "content-disposition: form-data", content: "" }]), /names a field/],
    ["no headers", multipart([{ name: "", head: "", content: "" }]), /headers|names a field/],
    ["broken headers", multipart([{ name: "", head: "content disposition: x", content: "" }]), /headers that cannot/],
    [
      "gigantic headers",
      multipart([{ name: "", head: `x: ${"x".repeat(20_000)}`, content: "" }]),
      /headers that cannot/
    ],
    ["ten thousand parts", multipart(Array.from({ length: 10_000 }, () => field("x", ""))), /at most 64 parts/]
  ])("refuses %s", (_name, form, message) => {
    for (const sizes of [[], [1], [65_536]]) assert.match(refusal(readIn(form, sizes)), message)
  })

  it("accepts exactly as many parts as the limit says", () => {
    const many = (count: number) => multipart(Array.from({ length: count }, (_, at) => field(`p${at}`, "")))
    assert.strictEqual(accepted(readIn(many(maxParts), [])).parts.size, maxParts)
    assert.match(refusal(readIn(many(maxParts + 1), [])), /at most 64 parts/)
  })

  it("stops at the limit of a form, and returns what it has read so far", () => {
    const { body, contentType } = multipart([
      field("first", "1"),
      audioPart({ content: Buffer.alloc(maxFormBytes) }),
      field("last", "2")
    ])
    const form = accepted(readIn({ body, contentType }, [65_536]))
    assert.isFalse(form.complete)
    assert.deepStrictEqual([...form.parts.keys()], ["first", "file"])
    assert.isAbove(form.parts.get("file")?.size ?? 0, maxFormBytes - 100_000)
    assert.strictEqual(form.parts.get("file")?.bytes.length, 0)
  })
})
