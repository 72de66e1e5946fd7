/** Anthropic's Messages API as a protocol of clients: `POST /v1/messages`. */
import type { Headers } from "effect/http"

import type { Catalog } from "../../catalog/Catalog.ts"
import type { ClientProtocol, RequestContext } from "../completion/ClientProtocol.ts"
import { claudeModelName } from "./ClaudeModelNames.ts"
import { messageBody, messageEncoder, type MessagesAsked, pingEvent } from "./MessageAnswer.ts"
import { type MessagesReader, readMessagesBody } from "./MessagesBody.ts"

/** What reading a body needs of the catalog. */
export const messagesReader = ({ lookup }: Catalog["Service"]): MessagesReader => ({
  resolve: (name) => claudeModelName(name, (known) => lookup(known)._tag !== "Unknown")
})

/** Claude Code names its sessions in a header of its own. */
export const messagesContext = (context: RequestContext, headers: Headers.Headers): RequestContext => ({
  ...context,
  sessionHeader: context.sessionHeader ?? sessionIn(headers["x-claude-code-session-id"])
})

/** Nobody is refused for what a program sends by itself. */
const sessionIn = (header: string | undefined): string | undefined =>
  header !== undefined && /^[\w-]{1,128}$/.test(header) ? header : undefined

export const messagesProtocol = (reader: MessagesReader): ClientProtocol<MessagesAsked> => ({
  endpoint: "messages",
  read: (body, context, headers) => readMessagesBody(body, messagesContext(context, headers), reader),
  plain: messageBody,
  stream: messageEncoder,
  keepAlive: pingEvent
})
