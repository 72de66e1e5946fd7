/** `POST /v1/chat/completions`: the handler of completions in the protocol of chat completions. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { Api } from "../../api/Api.ts"
import { completionHandler, type CompletionOptions } from "../completion/CompletionHandler.ts"
import { chatCompletions } from "./ChatCompletions.ts"

export const chatHandlersLayer = (options: CompletionOptions) =>
  HttpApiBuilder.group(Api, "chat", (handlers) =>
    Effect.map(completionHandler(chatCompletions, options), (complete) => handlers.handleRaw("completions", complete))
  )
