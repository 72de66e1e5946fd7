import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"

import type { DialectName } from "../../../../src/catalog/Provider.ts"
import { endpointId, providerId } from "../../../../src/domain/Ids.ts"
import type { TranscriptionRequest } from "../../../../src/domain/Transcription.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { Dispatch } from "../../../../src/providers/dispatch/Dispatch.ts"
import type { Target } from "../../../../src/providers/dispatch/Target.ts"
import { Sandbox } from "../../../../src/sandbox/Sandbox.ts"
import { held, targetOf } from "../../../providers/dispatch/FakeTargets.ts"
import { recording } from "../../../providers/recordings.ts"
import * as SandboxDispatch from "../../SandboxDispatch.ts"

const dialects: { readonly [provider: string]: DialectName } = {
  openai: "openai",
  groq: "groq",
  mistral: "mistral",
  openrouter: "openrouter",
  azure: "azure"
}

const testLayer = SandboxDispatch.layerOf((name) => ({
  protocol: name === "google" ? "gemini" : "openai-chat",
  dialect: dialects[name] ?? "generic",
  auth: name === "google" ? "x-goog-api-key" : name === "azure" ? "api-key" : "bearer"
}))

const at = (provider: string, upstream: string, protocol: Target["endpoint"]["protocol"] = "openai-transcription") => {
  const { endpoint, model } = targetOf(upstream)
  const id = endpointId(`${provider}/${upstream}`)
  return { model, endpoint: { ...endpoint, id, provider: providerId(provider), upstream, protocol } }
}

const transcribe = (request: TranscriptionRequest, ...targets: readonly [Target, ...Array<Target>]) =>
  Effect.flatMap(Dispatch, (dispatch) => dispatch.transcribe({ held, request, targets }))

const second = (prompt = "") => recording({ prompt, language: "de" }, "ogg", new Uint8Array(32_000))

layer(testLayer, { excludeTestServices: true })("The sandbox as a transcription server", (it) => {
  it.effect("describes what it received, and reports usage as the provider that it stands for", () =>
    Effect.gen(function* () {
      const counted = (provider: string, model: string, prompt: string) =>
        Effect.map(transcribe(second(prompt), at(provider, model)), ({ value }) => value)
      const text = "The sandbox heard 32000 bytes of ogg in de."
      assert.deepStrictEqual(yield* counted("openai", "gpt-4o-transcribe", "abcdefgh"), {
        text,
        usage: { ...none, input: 2, audioInput: 10, output: 9 }
      })
      assert.deepStrictEqual(yield* counted("azure", "my-deployment", ""), {
        text,
        usage: { ...none, audioInput: 10, output: 9 }
      })
      assert.deepStrictEqual(yield* counted("openai", "whisper-1", "abcdefgh"), { text, usage: undefined })
      assert.deepStrictEqual(yield* counted("groq", "whisper-large-v3", "abcdefgh"), { text, usage: undefined })
      assert.deepStrictEqual(yield* counted("mistral", "voxtral-mini-latest", "abcdefgh"), {
        text,
        usage: { ...none, input: 3, audioInput: 10, output: 9 }
      })
      assert.deepStrictEqual(yield* counted("openrouter", "openai/gpt-4o-transcribe", "abcdefgh"), {
        text,
        usage: { ...none, audioInput: 10, output: 9 }
      })
    })
  )

  it.effect("answers with the text of a directive, also as a chat model", () =>
    Effect.gen(function* () {
      const directed = second("[say:Guten Morgen.]")
      assert.strictEqual((yield* transcribe(directed, at("openai", "directed"))).value.text, "Guten Morgen.")
      assert.strictEqual((yield* transcribe(directed, at("google", "directed", "gemini"))).value.text, "Guten Morgen.")
      const undirected = yield* transcribe(recording({}, "mp3"), at("openai", "undirected", "openai-chat"))
      assert.strictEqual(undirected.value.text, "The sandbox heard 1 audio clip(s).")
      assert.strictEqual((yield* transcribe(second("[fault:empty]"), at("openai", "mute"))).value.text, "")
    })
  )

  it.effect("produces the faults that the prompt asks for", () =>
    Effect.gen(function* () {
      const request = second("[fault:500 first] [say:Hello]")
      const answer = yield* transcribe(request, at("openai", "one"), at("groq", "two"))
      assert.deepStrictEqual(
        answer.attempts.map(({ endpoint, outcome }) => `${endpoint} ${outcome}`),
        ["openai/one Transient", "groq/two answered"]
      )
      const reasonOf = (fault: string, protocol?: Target["endpoint"]["protocol"]) =>
        Effect.map(
          Effect.flip(transcribe(recording({ prompt: `[fault:${fault}]` }), at("openai", fault, protocol))),
          ({ last }) => last.reason
        )
      assert.deepStrictEqual<unknown>(yield* reasonOf("overloaded"), { _tag: "Transient", kind: "overloaded" })
      assert.deepStrictEqual<unknown>(yield* reasonOf("quota"), { _tag: "Credentials" })
      assert.deepStrictEqual<unknown>(yield* reasonOf("context"), { _tag: "Unsupported" })
      for (const broken of ["html", "truncated-json", "error-in-200", "cut"])
        assert.strictEqual((yield* reasonOf(broken))._tag, "Transient", broken)
      assert.deepStrictEqual<unknown>(yield* reasonOf("refused", "openai-chat"), { _tag: "Refused" })
    })
  )
})

describe("A form that a real server would refuse", () => {
  const form = (change: (form: FormData) => void): FormData => {
    const made = new FormData()
    made.append("model", "whisper-1")
    made.append("response_format", "json")
    made.append("file", new File(["RIFF"], "a.wav", { type: "audio/wav" }))
    change(made)
    return made
  }
  const file = (name: string, type = "audio/wav", content = "RIFF") => new File([content], name, { type })
  const faults: ReadonlyArray<readonly [string, BodyInit, RegExp, string?]> = [
    ["has no file", form((made) => made.delete("file")), /file is required/],
    ["has its file as text", form((made) => made.set("file", "RIFF")), /file is required/],
    ["has no model", form((made) => made.delete("model")), /model/],
    ["has two models", form((made) => made.append("model", "x")), /more than once/],
    ["has an unknown field", form((made) => made.append("stream", "true")), /Extra inputs/],
    [
      "has a field that Mistral does not know",
      form((made) => made.delete("prompt")),
      /response_format: Extra/,
      "mistral"
    ],
    ["asks for another format", form((made) => made.set("response_format", "srt")), /not compatible/],
    ["has a temperature that is not a number", form((made) => made.set("temperature", "warm")), /temperature/],
    ["has a language that is not a code", form((made) => made.set("language", "german")), /ISO-639-1/],
    ["has a file of an unknown format", form((made) => made.set("file", file("a.txt"))), /Invalid file format/],
    ["has a file without a name", form((made) => made.set("file", file("blob"))), /Invalid file format/],
    ["declares the file as text", form((made) => made.set("file", file("a.wav", "text/plain"))), /of type text/],
    ["has an empty file", form((made) => made.set("file", file("a.wav", "audio/wav", ""))), /too short/],
    ["is not a form", JSON.stringify({ model: "whisper-1" }), /multipart/]
  ]
  const post = Effect.fnUntraced(function* (init: RequestInit) {
    const url = `${(yield* Sandbox).baseUrlFor("openai-chat")}/audio/transcriptions`
    const response = yield* Effect.promise(() => fetch(url, { method: "POST", ...init }))
    return { status: response.status, text: yield* Effect.promise(() => response.text()) }
  })
  layer(testLayer, { excludeTestServices: true })((it) => {
    for (const [name, body, message, key = "openai"] of faults)
      it.effect(name, () =>
        Effect.gen(function* () {
          const answer = yield* post({ body, headers: { authorization: `Bearer ${key}` } })
          assert.strictEqual(answer.status, 400)
          assert.match(answer.text, message)
        })
      )

    it.effect("is sent in chunks, so that its length is unknown", () =>
      Effect.gen(function* () {
        const sent = form(() => undefined)
        assert.strictEqual((yield* post({ body: sent })).status, 200)
        const { body, headers } = new Response(sent)
        const chunked = { body, headers: [...headers], duplex: "half" }
        const answer = yield* post(chunked)
        assert.strictEqual(answer.status, 400)
        assert.match(answer.text, /multipart/)
      })
    )
  })
})
