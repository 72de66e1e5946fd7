/**
 * The body of `POST /models/{model}:generateContent`, as the Gemini API (v1beta) documents it; the model is in the
 * path. A member that is `undefined` is not sent. `RequestBody` lists every member the gateway can send, in the order
 * in which it sends them, and none of them is optional: a misspelt or a forgotten member does not compile.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"

/** The whole body. */
export interface RequestBody {
  /** All functions are in one entry. */
  readonly tools: readonly [{ readonly functionDeclarations: ReadonlyArray<FunctionDeclaration> }] | undefined
  readonly toolConfig: { readonly functionCallingConfig: FunctionCallingConfig } | undefined
  readonly systemInstruction: { readonly parts: ReadonlyArray<GeminiPart> } | undefined
  /** Roles alternate, and the first and the last turn are the user's. */
  readonly contents: ReadonlyArray<ContentTurn>
  readonly generationConfig: GenerationConfig
}

/** A function that the model may call. */
export interface FunctionDeclaration {
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema; left out for a function without parameters. */
  readonly parametersJsonSchema: JsonObject | undefined
}

/** Without it the model decides, which is `AUTO`. */
export interface FunctionCallingConfig {
  readonly mode: "ANY" | "NONE"
  /** Allowed beside `ANY` only. */
  readonly allowedFunctionNames: readonly [string] | undefined
}

/** Limits, sampling, format and thinking. */
export interface GenerationConfig {
  /** Visible tokens and thoughts. */
  readonly maxOutputTokens: number | undefined
  /** From 0 to 2. */
  readonly temperature: number | undefined
  /** From 0 to 1. */
  readonly topP: number | undefined
  /** Refused by all models that think, as is the next one. */
  readonly frequencyPenalty: number | undefined
  readonly presencePenalty: number | undefined
  /** At most five. */
  readonly stopSequences: ReadonlyArray<string> | undefined
  /** Before Gemini 3 it is refused beside tools, as is the next one. */
  readonly responseMimeType: "application/json" | undefined
  /** JSON Schema; needs the MIME type. */
  readonly responseJsonSchema: JsonObject | undefined
  readonly thinkingConfig: ThinkingConfig | undefined
}

/** A level and a budget together are refused. */
export interface ThinkingConfig {
  readonly includeThoughts: boolean | undefined
  /** `MINIMAL`, `LOW`, `MEDIUM` or `HIGH`; from Gemini 3 on. */
  readonly thinkingLevel: string | undefined
  /** Tokens; Gemini 2.5. With 0 the model does not think. */
  readonly thinkingBudget: number | undefined
}

/** One turn. */
export interface ContentTurn {
  readonly role: "user" | "model"
  readonly parts: ReadonlyArray<GeminiPart>
}

export type GeminiPart = GeminiTextPart | MediaPart | FunctionCallPart | FunctionResponsePart

/** Text, or a thought. */
export interface GeminiTextPart {
  /** Empty text is allowed only beside a signature. */
  readonly text: string
  /** The text is a thought. */
  readonly thought?: true
  /** Base64. */
  readonly thoughtSignature?: string
}

/** An image or audio. */
export interface MediaPart {
  /** Base64. */
  readonly inlineData: { readonly mimeType: string; readonly data: string }
}

/** A call that the model made. */
export interface FunctionCallPart {
  /** Gemini 3 and later take ids; older models know calls by their name and order. */
  readonly functionCall: { readonly id: string | undefined; readonly name: string; readonly args: JsonObject }
  /** Base64. Gemini 3 and later refuse a turn whose first call has none. */
  readonly thoughtSignature: string | undefined
}

/** As many as there were calls, and in the same order. */
export interface FunctionResponsePart {
  readonly functionResponse: {
    readonly id: string | undefined
    readonly name: string
    readonly response: { readonly output: string } | { readonly error: string }
  }
}
