/** `GET /admin/v1/usage`. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { AdminApi } from "../../api/admin/AdminApi.ts"
import { makeAdminUsageReply } from "../usage/UsageReply.ts"

export const usageHandlersLayer = HttpApiBuilder.group(AdminApi, "usage", (handlers) =>
  Effect.map(makeAdminUsageReply, (reply) => handlers.handle("report", ({ query, request }) => reply(query, request)))
)
