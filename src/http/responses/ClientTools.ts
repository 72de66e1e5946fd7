/**
 * The tools of a request as functions, the one kind of tool that every model knows, and the names by which the client
 * knows them. A custom tool, whose input is text, is a function with the argument `input`. A tool of a namespace is a
 * function with the name of the namespace before its own.
 */
import { hash } from "node:crypto"

import type { ClientToolDefinition } from "../../api/ResponsesRequest.ts"
import type { Tool } from "../../domain/Conversation.ts"

/** A tool as the client named it. */
export interface ClientTool {
  readonly kind: "function" | "custom"
  readonly name: string
  readonly namespace?: string
}

export interface ClientTools {
  readonly functions: ReadonlyArray<Tool>
  /** By the name of the function that stands for the tool. */
  readonly named: ReadonlyMap<string, ClientTool>
  /** What the model does not get as it was asked for, each as `name=what is sent`. */
  readonly adjusted: ReadonlyArray<string>
  /** A name that two tools have. */
  readonly ambiguous: string | undefined
}

/** The longest name that every provider accepts. */
const maxNameLength = 64

/** The name of the function that stands for a tool. It depends on nothing else, so that later turns find it again. */
export const functionName = (name: string, namespace: string | null | undefined): string => {
  if (namespace === undefined || namespace === null) return name
  const joined = `${namespace}__${name}`
  const digest = hash("sha256", joined, "hex").slice(0, 8)
  return joined.length <= maxNameLength ? joined : `${joined.slice(0, maxNameLength - 9)}_${digest}`
}

type SingleTool = Exclude<ClientToolDefinition, { readonly type: "namespace" }>

export const clientToolsOf = (tools: ReadonlyArray<ClientToolDefinition>): ClientTools => {
  const functions: Array<Tool> = []
  const named = new Map<string, ClientTool>()
  const adjusted: Array<string> = []
  let ambiguous: string | undefined
  const add = (tool: SingleTool, namespace?: string, introduction?: string): void => {
    const name = functionName(tool.name, namespace)
    if (named.has(name)) ambiguous ??= tool.name
    named.set(name, {
      kind: tool.type,
      name: tool.name,
      ...(namespace !== undefined && { namespace })
    })
    const own = tool.type === "function" ? (tool.description ?? "") : customDescription(tool)
    const description = [introduction ?? "", own].filter((text) => text !== "").join("\n\n")
    const parameters = tool.type === "function" ? (tool.parameters ?? noParameters) : inputParameter
    const strict = tool.type === "function" && tool.strict === true
    functions.push({ name, parameters, ...(description !== "" && { description }), ...(strict && { strict }) })
    if (tool.type === "custom" && tool.format?.type === "grammar") adjusted.push("tools.format=description")
  }
  for (const tool of tools) {
    if (tool.type !== "namespace") add(tool)
    // What is said of a namespace is said of its first tool, because no function stands for the namespace.
    else tool.tools.forEach((inner, index) => add(inner, tool.name, index === 0 ? (tool.description ?? "") : ""))
  }
  return { functions, named, adjusted: [...new Set(adjusted)], ambiguous }
}

const noParameters = { type: "object", properties: {} }

const inputParameter = {
  type: "object",
  properties: { input: { type: "string", description: "The whole input of the tool, as text" } },
  required: ["input"],
  additionalProperties: false
}

const customDescription = ({ description, format }: Extract<SingleTool, { readonly type: "custom" }>): string => {
  const grammar =
    format?.type === "grammar" ? `The input must match this ${format.syntax} grammar:\n${format.definition}` : ""
  return [description ?? "", grammar].filter((text) => text !== "").join("\n\n")
}

/** The arguments of the function that stands for a custom tool. */
export const customArguments = (input: string): string => JSON.stringify({ input })

/** The input of a custom tool in the arguments of its function; the arguments themselves where they have none. */
export const customInput = (written: string): string => {
  try {
    const parsed: unknown = JSON.parse(written)
    const input: unknown = typeof parsed === "object" && parsed !== null ? Reflect.get(parsed, "input") : undefined
    return typeof input === "string" ? input : written
  } catch {
    return written
  }
}
