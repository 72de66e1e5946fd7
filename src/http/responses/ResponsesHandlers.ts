/** `POST /v1/responses`: the handler of completions in the protocol of responses. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { Api } from "../../api/Api.ts"
import { completionHandler, type CompletionOptions } from "../completion/CompletionHandler.ts"
import { responsesProtocol } from "./ResponsesProtocol.ts"

export const responsesHandlersLayer = (options: CompletionOptions) =>
  HttpApiBuilder.group(Api, "responses", (handlers) =>
    Effect.map(completionHandler(responsesProtocol, options), (respond) => handlers.handleRaw("create", respond))
  )
