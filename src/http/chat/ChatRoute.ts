/** `POST /v1/chat/completions`: the route of completions in the protocol of chat completions. */
import { Layer } from "effect"

import { Api } from "../../api/Api.ts"
import type { CompletionOptions } from "../completion/CompletionHandler.ts"
import { addCompletionRoute } from "../completion/CompletionRoute.ts"
import { chatCompletions } from "./ChatCompletions.ts"

export const chatRouteLayer = (options: CompletionOptions) =>
  Layer.effectDiscard(addCompletionRoute(chatCompletions, Api.groups.chat.endpoints.completions.path, options))
