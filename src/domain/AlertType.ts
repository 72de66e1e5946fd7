/** The kinds of alerts that webhooks can get. */

/** What belongs to an organization, and so may be sent to a webhook of its own. */
export const organizationAlerts = ["balance.low", "budget.threshold"] as const

/** What happened that somebody should know. */
export const alertTypes = [
  ...organizationAlerts,
  "provider.credentials_refused",
  "provider.credentials_accepted",
  "provider.breaker_open",
  "provider.breaker_closed",
  "ledger.drift",
  "ledger.charge_rejected"
] as const

export type AlertType = (typeof alertTypes)[number]
