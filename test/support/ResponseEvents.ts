/** Joins the events of a streamed response as its clients do, and checks that no event contradicts another. */
import { assert } from "@effect/vitest"

import { at, type Json } from "./Chat.ts"

/** The events of a stream, in order. Fails the test unless each is named for its type, and numbered. */
export const responseEventsIn = (text: string): ReadonlyArray<Json> => {
  const frames = text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"))
  return frames.map((frame, index) => {
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? []
    const event: Json = JSON.parse(data ?? assert.fail(`not an event: ${frame}`))
    assert.strictEqual(event["type"], name)
    assert.strictEqual(event["sequence_number"], index)
    return event
  })
}

type Growing = { [key: string]: unknown }

const deltas: { readonly [name: string]: readonly [list: string | undefined, member: string] } = {
  "response.output_text": ["content", "text"],
  "response.refusal": ["content", "refusal"],
  "response.reasoning_text": ["content", "text"],
  "response.reasoning_summary_text": ["summary", "text"],
  "response.function_call_arguments": [undefined, "arguments"],
  "response.custom_tool_call_input": [undefined, "input"]
}

const indexOf = (event: Json): number => Number(event["content_index"] ?? event["summary_index"])

/** Applies one event to the items so far. */
const apply = (output: Array<Growing>, event: Json): void => {
  const type = String(event["type"])
  const item = output[Number(event["output_index"])]
  if (type === "response.output_item.added") {
    assert.strictEqual(event["output_index"], output.length)
    output.push(structuredClone(event["item"]) as Growing)
    return
  }
  if (item === undefined) return void assert.notProperty(event, "output_index", type)
  if (type !== "response.output_item.done") assert.strictEqual(event["item_id"], item["id"])
  const list = type.includes("summary") ? "summary" : "content"
  if (type.endsWith("_part.added")) {
    const parts = (item[list] ??= []) as Array<unknown>
    assert.strictEqual(indexOf(event), parts.length)
    parts.push(structuredClone(event["part"]))
  } else if (type.endsWith("_part.done")) {
    assert.deepStrictEqual(at(item, list, indexOf(event)), event["part"])
  } else if (type === "response.output_item.done") {
    const done = event["item"] as Json
    const { encrypted_content, status } = done
    assert.deepStrictEqual(
      { ...item, ...(encrypted_content !== undefined && { encrypted_content }), status },
      {
        ...done,
        status
      }
    )
    Object.assign(item, done)
  } else applyText(item, event, type)
}

const applyText = (item: Growing, event: Json, type: string): void => {
  const dot = type.lastIndexOf(".")
  const [list, member] = deltas[type.slice(0, dot)] ?? assert.fail(`unknown event ${type}`)
  const holder = (list === undefined ? item : at(item, list, indexOf(event))) as Growing
  if (type.endsWith(".delta")) holder[member] = `${String(holder[member])}${String(event["delta"])}`
  else assert.strictEqual(holder[member], event[member])
}

/** The last response of a stream. Fails the test unless it is what its events add up to. */
export const foldedResponse = (events: ReadonlyArray<Json>): Json => {
  const types = events.map((event) => event["type"])
  assert.deepStrictEqual(types.slice(0, 2), ["response.created", "response.in_progress"])
  const output: Array<Growing> = []
  for (const event of events.slice(2, -1)) apply(output, event)
  const last = events.at(-1)
  const response = last?.["response"] as Json
  assert.strictEqual(last?.["type"], `response.${String(response["status"])}`)
  if (response["status"] !== "failed") assert.deepStrictEqual(response["output"], output)
  const begun = at(events[0], "response") as Json
  const { error, incomplete_details, output: _, status, usage } = response
  assert.deepStrictEqual({ ...begun, error, incomplete_details, output: 0, status, usage }, { ...response, output: 0 })
  return response
}
