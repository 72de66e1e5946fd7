/** `POST /v1/messages`, and `/v1/messages/count_tokens`, which asks no provider and costs nothing. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { InvalidModel } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { estimatePromptTokens } from "../../domain/TokenCount.ts"
import { makeNameResolver } from "../../gateway/ResolvedNames.ts"
import { completionHandler, type CompletionOptions, contextOf, handlerOf } from "../completion/CompletionHandler.ts"
import { RequestBodies } from "../edge/RequestBodies.ts"
import { utf8Text } from "../edge/RequestText.ts"
import { messagesContext, messagesProtocol, messagesReader } from "./Messages.ts"
import { readMessageTokensBody } from "./MessagesBody.ts"

export const messagesHandlersLayer = (options: CompletionOptions) =>
  HttpApiBuilder.group(Api, "messages", (handlers) =>
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const bodies = yield* RequestBodies
      const reader = messagesReader(catalog)
      const resolveNames = makeNameResolver()
      const create = yield* completionHandler(messagesProtocol(reader), options)
      return handlers.handleRaw("create", handlerOf(create)).handleRaw(
        "countTokens",
        Effect.fnUntraced(function* ({ request }) {
          const body = yield* Effect.fromResult(utf8Text(yield* bodies.whole(request, options.maxBodyBytes)))
          const context = messagesContext(contextOf(request, options), request.headers)
          const { input } = yield* Effect.fromResult(readMessageTokensBody(body, context, reader))
          const { model } = resolveNames({ caller: yield* CurrentCaller, input }).input
          if (model !== undefined && catalog.lookup(model)._tag === "Unknown")
            return yield* InvalidModel.of("model: there is no such model; see /v1/models")
          return HttpServerResponse.jsonUnsafe({ input_tokens: estimatePromptTokens(input.request) })
        })
      )
    })
  )
