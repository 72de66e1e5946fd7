/** The environment variables of alerts and webhooks. */
import { Config, Option } from "effect"

import { fromUsd } from "../domain/Money.ts"
import { positive, Usd } from "./Values.ts"
import { variable } from "./Variables.ts"

/** Declares them, in this order, where it is called. */
export const alertSettings = () =>
  Config.all({
    lowBalance: variable(
      {
        name: "ALERT_LOW_BALANCE_USD",
        default: "1",
        meaning: "Below this balance an organization without a threshold of its own raises the alert `balance.low`."
      },
      Usd("ALERT_LOW_BALANCE_USD").pipe(Config.withDefault(Option.getOrThrow(fromUsd("1"))))
    ),
    breakerMinutes: variable(
      {
        name: "ALERT_BREAKER_MINUTES",
        default: "5",
        meaning: "How long a circuit breaker has to be open until that is an alert."
      },
      positive("ALERT_BREAKER_MINUTES").pipe(Config.withDefault(5))
    ),
    deliveryLogDays: variable(
      { name: "WEBHOOK_LOG_DAYS", default: "30", meaning: "How many days alerts and their deliveries are kept." },
      positive("WEBHOOK_LOG_DAYS").pipe(Config.withDefault(30))
    ),
    privateWebhooks: variable(
      {
        name: "WEBHOOK_PRIVATE_TARGETS",
        default: "false",
        meaning: "Whether webhooks may use http and private addresses: for tests and closed networks only."
      },
      Config.Boolean("WEBHOOK_PRIVATE_TARGETS").pipe(Config.withDefault(false))
    )
  })
