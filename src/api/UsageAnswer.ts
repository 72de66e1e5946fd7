/** The queries and answers of `GET /v1/usage` and `GET /admin/v1/usage`. */
import { Schema } from "effect"

import { Format } from "./CsvAnswer.ts"
import { Time } from "./RequestRules.ts"

const Text = Schema.String.check(Schema.isMaxLength(1_000))
const Uuid = Schema.String.check(Schema.isUUID())

/** The query of both routes. */
export const UsageParameters = Schema.Struct({
  from: Time.annotate({ description: "ISO 8601. Taken down to a quarter hour, which is as fine as usage is kept." }),
  to: Schema.optionalKey(Time.annotate({ description: "ISO 8601, exclusive; now if left out." })),
  interval: Schema.optionalKey(
    Schema.Literals(["hour", "day", "month"]).annotate({
      description:
        "One row for each, or one for the whole span. Hours for up to 31 days, days for 366, months for 3,660."
    })
  ),
  time_zone: Schema.optionalKey(
    Schema.String.annotate({
      description: "Whose hours, days and months: an IANA name such as `Europe/Berlin`; UTC if left out."
    })
  ),
  group_by: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Names with commas between them: project_id, environment_id, api_key_id, model, provider, outcome, " +
        "call_name, end_user_id; for operators organization_id too."
    })
  ),
  project_id: Schema.optionalKey(Uuid),
  environment_id: Schema.optionalKey(Uuid),
  api_key_id: Schema.optionalKey(Uuid),
  model: Schema.optionalKey(Text),
  provider: Schema.optionalKey(Text),
  outcome: Schema.optionalKey(Text),
  call_name: Schema.optionalKey(Text),
  end_user_id: Schema.optionalKey(Text),
  format: Schema.optionalKey(Format)
})

const Count = Schema.Finite

export const UsageBucket = Schema.Struct({
  object: Schema.Literal("usage"),
  start: Schema.NullOr(Time).annotate({ description: "When the interval begins; null without intervals." }),
  group: Schema.Record(Schema.String, Schema.NullOr(Schema.String)).annotate({
    description: "What the row is for, by the names of `group_by`; null where the requests have no value."
  }),
  requests: Count,
  input_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  audio_input_tokens: Count,
  output_tokens: Count.annotate({ description: "With those of reasoning." }),
  reasoning_tokens: Count,
  audio_seconds: Count,
  cost_usd: Schema.String.annotate({ description: "USD as an exact decimal." })
}).annotate({ identifier: "Usage" })

const usageListOf = <S extends Schema.Top>(bucket: S) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(bucket).annotate({ description: "In order of time, then of cost, the dearest first." }),
    from: Time,
    to: Time
  })

export const UsageList = usageListOf(UsageBucket).annotate({ identifier: "UsageList" })

/** What only operators see of usage. */
export const AdminUsageBucket = Schema.Struct({
  ...UsageBucket.fields,
  provider_cost_usd: Schema.String.annotate({
    description: "What the providers bill, as far as that is known: USD as an exact decimal."
  }),
  margin_usd: Schema.String.annotate({
    description: "`cost_usd`, which is what was charged, minus `provider_cost_usd`. It may be negative."
  })
}).annotate({ identifier: "AdminUsage" })

export const AdminUsageList = usageListOf(AdminUsageBucket).annotate({ identifier: "AdminUsageList" })
