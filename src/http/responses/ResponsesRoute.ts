/** `POST /v1/responses`: the route of completions in the protocol of responses. */
import { Layer } from "effect"

import { Api } from "../../api/Api.ts"
import type { CompletionOptions } from "../completion/CompletionHandler.ts"
import { addCompletionRoute } from "../completion/CompletionRoute.ts"
import { responsesProtocol } from "./ResponsesProtocol.ts"

export const responsesRouteLayer = (options: CompletionOptions) =>
  Layer.effectDiscard(addCompletionRoute(responsesProtocol, Api.groups.responses.endpoints.create.path, options))
