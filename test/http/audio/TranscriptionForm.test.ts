import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { audioExtensions } from "../../../src/domain/Transcription.ts"
import * as TranscriptionForm from "../../../src/http/audio/TranscriptionForm.ts"
import { FormReader } from "../../../src/http/audio/UploadForm.ts"
import { audioPart, field, multipart, type PartSpec, silence } from "../../support/Multipart.ts"

const serviceName = "svc"

const read = (parts: ReadonlyArray<PartSpec>) => {
  const { body, contentType } = multipart(parts)
  const reader = new FormReader(contentType, TranscriptionForm.partLimitFor(serviceName), body.length)
  reader.write(body)
  return Result.flatMap(reader.end(), (form) => TranscriptionForm.readTranscriptionForm(form, serviceName))
}

type Fields = { readonly [name: string]: string | Uint8Array }

const fieldsOf = (fields: Fields) => Object.entries(fields).map(([name, value]) => field(name, value))
const withFile = (fields: Fields) => [audioPart(), ...fieldsOf(fields)]

const accepts = (parts: ReadonlyArray<PartSpec>): TranscriptionForm.TranscriptionForm => {
  const form = read(parts)
  return Result.isSuccess(form) ? form.success : assert.fail(form.failure.error.message)
}

type Refused = Result.Result<unknown, { readonly error: { readonly code: string; readonly message: string } }>

const refusalOf = (result: Refused, about: string): readonly [code: string, message: string] =>
  Result.isFailure(result)
    ? [result.failure.error.code, result.failure.error.message]
    : assert.fail(`accepted ${about.slice(0, 80)}`)

const assertRefused = (result: Refused, code: string, message: RegExp, about: string) => {
  const [refusedCode, refusedMessage] = refusalOf(result, about)
  assert.strictEqual(refusedCode, code, refusedMessage)
  assert.match(refusedMessage, message)
}

const labelsIn = (fields: Fields) => TranscriptionForm.labelsOf(accepts(withFile(fields)))

describe("TranscriptionForm", () => {
  it("has the contract's defaults", () => {
    const form = accepts([audioPart()])
    assert.deepStrictEqual(
      { ...form, file: { ...form.file, bytes: Buffer.from(form.file.bytes) } },
      {
        file: { name: "speech.wav", extension: "wav", bytes: silence() },
        model: undefined,
        language: undefined,
        prompt: undefined,
        temperature: 0,
        responseFormat: undefined,
        stream: false,
        containers: [],
        callName: undefined
      }
    )
    assert.deepStrictEqual(TranscriptionForm.formatOf(form), Result.succeed("json"))
    assert.deepStrictEqual(
      TranscriptionForm.labelsOf(form),
      Result.succeed({ callName: undefined, endUserId: undefined })
    )
  })

  it("reads its fields, wherever the file stands among them", () => {
    const fields = fieldsOf({
      model: "whisper-1",
      language: "DE",
      prompt: "Ein Gespräch über Mautstellen",
      temperature: "0.25",
      response_format: "text",
      unknown: "x",
      stream: "true",
      "timestamp_granularities[]": "word"
    })
    for (const parts of [
      [audioPart(), ...fields],
      [...fields, audioPart()],
      [...fields.slice(0, 3), audioPart(), ...fields.slice(3)]
    ]) {
      const { file, ...form } = accepts(parts)
      assert.deepStrictEqual(form, {
        model: "whisper-1",
        language: "de",
        prompt: "Ein Gespräch über Mautstellen",
        temperature: 0.25,
        responseFormat: "text",
        stream: true,
        containers: [],
        callName: undefined
      })
      assert.strictEqual(file.bytes.length, silence().length)
    }
  })

  it("accepts a file by the extension of its name alone, in lower or upper case", () => {
    for (const extension of audioExtensions) {
      for (const name of [`a.${extension}`, `a.${extension.toUpperCase()}`, `a.b.c.${extension}`, `.${extension}`]) {
        const { file } = accepts([audioPart({ filename: name, type: "image/png", content: "not audio" })])
        assert.deepStrictEqual([file.name, file.extension], [name, extension])
      }
    }
    for (const filename of ["a", "wav", "a.", "a.txt", "a.wav.txt", "a.wav ", "a.wave", "a.opus", "a.aac", "wav.a/b"]) {
      assertRefused(
        read([audioPart({ filename, type: "audio/wav" })]),
        "invalid_file_format",
        /extension flac/,
        filename
      )
    }
  })

  it("strips directories, escapes and control characters from the file's name", () => {
    const named = (parameters: string) =>
      accepts([audioPart({ head: `content-disposition: form-data; name="file"; ${parameters}` })]).file.name
    assert.strictEqual(named('filename="C:\\fakepath\\Über uns.WAV"'), "Über uns.WAV")
    assert.strictEqual(named('filename="/tmp/recordings/../a.wav"'), "a.wav")
    assert.strictEqual(named('filename="say \\"hi\\".wav"'), 'say "hi".wav')
    assert.strictEqual(named("filename*=UTF-8''a%0D%0Ax-evil%3A%201%00.wav"), "ax-evil: 1.wav")
    assert.strictEqual(named("filename=\"x.txt\"; filename*=utf-8''%E9%9F%B3.mp3"), "音.mp3")
  })

  it.each<readonly [name: string, parts: ReadonlyArray<PartSpec>, message: RegExp]>([
    ["no file", fieldsOf({ model: "whisper-1" }), /^file is missing/],
    ["no parts", [], /^file is missing/],
    ["the file under another name", [audioPart({ name: "audio" })], /^file is missing/],
    ["the file as a plain field", [field("file", silence())], /^file must have a filename/],
    [
      "the file as bytes without a name",
      [audioPart({ head: 'content-disposition: form-data; name="file"\r\ncontent-type: audio/wav' })],
      /^file must have a filename/
    ],
    ["a file with an empty name", [audioPart({ filename: "" })], /^file must have a filename/],
    ["an empty file", [audioPart({ content: "" })], /^file is empty/],
    ["an empty file of another format", [audioPart({ filename: "a.txt", content: "" })], /^file is empty/],
    ["two files", [audioPart(), audioPart({ filename: "b.wav" })], /^file must be given once/],
    ["a field twice", [...withFile({ model: "whisper-1" }), field("model", "whisper-1")], /^model must be given once/],
    ["text that is not UTF-8", withFile({ prompt: new Uint8Array([0x61, 0xff]) }), /^prompt is not valid UTF-8/],
    ["a field that is too long", withFile({ prompt: "x".repeat(65_537) }), /^prompt must have at most 65536 bytes/]
  ])("refuses %s", (name, parts, message) => assertRefused(read(parts), "invalid_request", message, name))

  it("accepts a field of the greatest length", () => {
    assert.lengthOf(String(accepts(withFile({ prompt: "é".repeat(32_768) })).prompt), 32_768)
  })

  it.each(["svc", "metadata"])("accepts %s only as a JSON object", (name) => {
    for (const [text, message] of [
      ["", /is empty/],
      ["{", /is not valid JSON/],
      ["{'call_name': 'x'}", /is not valid JSON/],
      ["call_name=x", /is not valid JSON/],
      ["null", /must be a JSON object/],
      ["[]", /must be a JSON object/],
      ['"{}"', /must be a JSON object/],
      ["7", /must be a JSON object/],
      ['{"call_name":"a","call_name":"b"}', /repeats the key "call_name"/],
      [`{"a":${"[".repeat(200)}${"]".repeat(200)}}`, /nests deeper than 128/]
    ] as const) {
      assertRefused(read(withFile({ [name]: text })), "invalid_request", message, text)
      assert.match(refusalOf(read(withFile({ [name]: text })), text)[1], new RegExp(`^${name} `))
    }
    for (const text of ["{}", ' {"memory": null, "eval": {"a": [1]}, "policy": "x", "other": 1}\n']) {
      assert.deepStrictEqual(
        TranscriptionForm.labelsOf(accepts(withFile({ [name]: text }))),
        Result.succeed({ callName: undefined, endUserId: undefined })
      )
    }
  })

  it("accepts only ISO 639-1 codes as the language", () => {
    for (const [text, language] of [
      ["en", "en"],
      ["ZH", "zh"],
      ["", undefined]
    ] as const) {
      assert.strictEqual(accepts(withFile({ language: text })).language, language)
    }
    for (const text of ["english", "eng", "en-US", "xx", "iw", " en", "e", "haw", "\0"]) {
      assertRefused(read(withFile({ language: text })), "invalid_request", /^language must be an ISO 639-1 code/, text)
    }
  })

  it("accepts a JSON number from 0 to 1 as the temperature", () => {
    const written = {
      "0": 0,
      "0.0": 0,
      "-0": 0,
      "1": 1,
      "1.0": 1,
      "0.7": 0.7,
      "1e-7": 1e-7,
      "1E-05": 1e-5,
      "1e-999": 0
    }
    for (const [text, value] of Object.entries(written)) {
      assert.isTrue(Object.is(accepts(withFile({ temperature: text })).temperature, value), text)
    }
    for (const text of [
      "",
      " ",
      " 1",
      "1 ",
      "NaN",
      "Infinity",
      "null",
      "true",
      "0x1",
      "+1",
      ".5",
      "1.",
      "0,5",
      "00.5"
    ]) {
      assertRefused(read(withFile({ temperature: text })), "invalid_request", /^temperature must be a number/, text)
    }
    for (const text of ["-0.1", "1.0000001", "2", "1e999", "-1"]) {
      assertRefused(read(withFile({ temperature: text })), "invalid_request", /from 0 to 1/, text)
    }
  })

  it("treats an empty prompt as none", () => {
    assert.isUndefined(accepts(withFile({ prompt: "" })).prompt)
    assert.strictEqual(accepts(withFile({ prompt: " " })).prompt, " ")
  })

  it("supports two response formats", () => {
    for (const format of ["json", "text"] as const) {
      const form = accepts(withFile({ response_format: format }))
      assert.deepStrictEqual(TranscriptionForm.formatOf(form), Result.succeed(format))
    }
    for (const format of ["", "JSON", "verbose_json", "srt", "vtt", "diarized_json", " json"]) {
      const form = accepts(withFile({ response_format: format }))
      assertRefused(TranscriptionForm.formatOf(form), "unsupported_response_format", /json or text/, format)
    }
  })
})

const json = (value: object) => JSON.stringify(value)

describe("A label of a transcription", () => {
  it.each<readonly [name: string, fields: Fields, callName: string | undefined, endUserId: string | undefined]>([
    ["in svc", { svc: json({ call_name: "s", end_user_id: "u" }) }, "s", "u"],
    ["in metadata", { metadata: json({ call_name: "m", end_user_id: "u" }) }, "m", "u"],
    ["at the top", { call_name: "t" }, "t", undefined],
    ["not at the top for end_user_id", { end_user_id: "u" }, undefined, undefined],
    ["in both", { svc: json({ call_name: "s" }), metadata: json({ call_name: "m" }) }, "s", undefined],
    [
      "in both, each label separately",
      { svc: json({ call_name: "s" }), metadata: json({ call_name: "m", end_user_id: "v" }), call_name: "t" },
      "s",
      "v"
    ],
    [
      "in both, each from the other object",
      { svc: json({ end_user_id: "u" }), metadata: json({ call_name: "m", end_user_id: "v" }), call_name: "t" },
      "m",
      "u"
    ],
    ["in neither", { svc: "{}", metadata: json({ other: 1 }), call_name: "t" }, "t", undefined],
    ["beside an invalid one that is not used", { svc: json({ call_name: "s" }), call_name: " " }, "s", undefined],
    [
      "beside invalid ones in the object that is not used",
      { svc: json({ call_name: "s", end_user_id: "u" }), metadata: json({ call_name: 7, end_user_id: "" }) },
      "s",
      "u"
    ],
    [
      "of the greatest length",
      { svc: json({ call_name: "🌉".repeat(64), end_user_id: "é".repeat(512) }) },
      "🌉".repeat(64),
      "é".repeat(512)
    ],
    ["with the whitespace around it", { call_name: " a " }, " a ", undefined],
    [
      "outside an object with a __proto__ key",
      { svc: '{"__proto__": {"call_name": "p"}}', call_name: "t" },
      "t",
      undefined
    ]
  ])("is found %s", (_name, fields, callName, endUserId) => {
    assert.deepStrictEqual(labelsIn(fields), Result.succeed({ callName, endUserId }))
  })

  const invalidValues = ["", " ", "\t\n", "\u00a0\u2003", 7, null, true, {}, ["a"]]

  it.each([
    ["call_name", "invalid_call_name", 64],
    ["end_user_id", "invalid_end_user_id", 512]
  ] as const)("%s must be text of the right length that is not only whitespace", (key, code, maxLength) => {
    const rule = new RegExp(`must be text of 1 to ${maxLength} characters that is not only whitespace`)
    for (const value of [...invalidValues, "x".repeat(maxLength + 1)]) {
      for (const container of ["svc", "metadata"]) {
        const fields = { [container]: json({ [key]: value }) }
        assertRefused(labelsIn(fields), code, rule, json(fields))
        assert.match(refusalOf(labelsIn(fields), "")[1], new RegExp(`^${container}\\.${key} `))
      }
      // An invalid value in the preferred object is an error, even when other places hold valid ones.
      const shadowed = { svc: json({ [key]: value }), metadata: json({ [key]: "good" }), [key]: "good" }
      assertRefused(labelsIn(shadowed), code, /^svc\./, json(shadowed))
    }
  })

  it("is checked by the same rule at the top level", () => {
    for (const value of ["", "  ", "x".repeat(65)]) {
      assertRefused(labelsIn({ call_name: value }), "invalid_call_name", /^call_name must be text of 1 to 64/, value)
    }
  })

  it("is checked in a fixed order: call_name before end_user_id", () => {
    const both = { svc: json({ end_user_id: "", call_name: "" }) }
    assertRefused(labelsIn(both), "invalid_call_name", /call_name/, "both")
  })
})
