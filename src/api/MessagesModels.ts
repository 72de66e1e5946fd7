/** The answers of `GET /v1/models` and `/v1/models/{id}` in Anthropic's shape, for clients that name its version. */
import { Schema } from "effect"

const about = (description: string) => ({ description })

export const MessagesModel = Schema.Struct({
  type: Schema.Literal("model"),
  id: Schema.String,
  display_name: Schema.String,
  created_at: Schema.String.annotate(about("A time by RFC 3339.")),
  max_input_tokens: Schema.NullOr(Schema.Int),
  max_tokens: Schema.NullOr(Schema.Int).annotate(about("The most tokens of an answer."))
}).annotate({ identifier: "MessagesModel" })
export type MessagesModel = typeof MessagesModel.Type

export const MessagesModelList = Schema.Struct({
  data: Schema.Array(MessagesModel).annotate(about("The routed model first, then the others by id.")),
  has_more: Schema.Boolean,
  first_id: Schema.NullOr(Schema.String),
  last_id: Schema.NullOr(Schema.String)
}).annotate({ identifier: "MessagesModelList" })
export type MessagesModelList = typeof MessagesModelList.Type
