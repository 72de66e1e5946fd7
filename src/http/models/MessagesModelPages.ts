/** The list of models as clients of Anthropic read it: only models for conversations, one page at a time. */
import { DateTime, Result } from "effect"

import { InvalidRequest } from "../../api/Errors.ts"
import type { MessagesModel, MessagesModelList } from "../../api/MessagesModels.ts"
import type { ModelCard } from "../../api/Models.ts"

/** `undefined` for a model that does not hold conversations. */
export const messagesModelOf = ({ created, id, svc }: typeof ModelCard.Type): MessagesModel | undefined =>
  svc.kind === "chat"
    ? {
        type: "model",
        id,
        display_name: id,
        created_at: DateTime.formatIso(DateTime.makeUnsafe(created * 1_000)),
        max_input_tokens: svc.context_window ?? null,
        max_tokens: svc.max_output_tokens ?? null
      }
    : undefined

const defaultLimit = 20
const maxLimit = 1_000

/** The page that the query of `url` asks for: `limit`, and `after_id` or `before_id`. */
export const messagesModelPage = (
  models: ReadonlyArray<MessagesModel>,
  url: string
): Result.Result<MessagesModelList, InvalidRequest> => {
  const query = new URLSearchParams(url.split("?")[1] ?? "")
  const limit = Number(query.get("limit") ?? defaultLimit)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    return Result.fail(InvalidRequest.of(`limit: must be a whole number from 1 to ${maxLimit}`))
  const [after, before] = (["after_id", "before_id"] as const).map((name) => query.get(name) ?? undefined)
  const start = after === undefined ? 0 : models.findIndex(({ id }) => id === after) + 1
  const end = before === undefined ? models.length : models.findIndex(({ id }) => id === before)
  if ((after !== undefined && start === 0) || end < 0)
    return Result.fail(InvalidRequest.of("after_id and before_id: must be the id of a model of the list"))
  const between = models.slice(start, end)
  // Before a model come the models next to it.
  const data = before === undefined ? between.slice(0, limit) : between.slice(-limit)
  return Result.succeed({
    data,
    has_more: between.length > data.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null
  })
}
