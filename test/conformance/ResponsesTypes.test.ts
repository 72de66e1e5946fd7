/** What the gateway declares of responses is what the `openai` package declares: the compiler compares the types. */
import { assert, it } from "@effect/vitest"
import type OpenAI from "openai"

import type { ResponsesOutputItem, ResponsesUsage } from "../../src/api/ResponsesAnswer.ts"
import type { ResponsesEvent } from "../../src/api/ResponsesEvents.ts"

type Mutable<A> = A extends object ? { -readonly [Name in keyof A]: Mutable<A[Name]> } : A

/** Events without a whole response, whose repeated members are as free as the request's. */
type PlainEvent = Exclude<ResponsesEvent, { readonly response: unknown }>

it("Items, usage and events have the published types", () => {
  const item = (ours: Mutable<ResponsesOutputItem>): OpenAI.Responses.ResponseOutputItem => ours
  const usage = (ours: Mutable<ResponsesUsage>): OpenAI.Responses.ResponseUsage => ours
  const event = (ours: Mutable<PlainEvent>): OpenAI.Responses.ResponseStreamEvent => ours
  for (const same of [item, usage, event]) assert.isFunction(same)
})
