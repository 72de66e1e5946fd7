/**
 * Values for members and parameters by their names, for bodies that have no example of their own. Of several values the
 * first that has the type of the member is used.
 */

type MemberValue = string | number | boolean

export const memberExamples: { readonly [name: string]: ReadonlyArray<MemberValue> } = {
  id: ["01a203b4-b71a-76fe-9c67-e2d507f95a68"],
  organization_id: ["01a1f0c2-8d11-7c3a-9a40-5b1f7de20c11"],
  project_id: ["01a1f0c2-9e42-7d07-8b5e-0c9a4f6b3d22"],
  environment_id: ["01a1f0c2-a7f3-7e19-b6cc-3d8e1a5f9e33"],
  api_key_id: ["01a1f0c2-ac19-7b60-93d1-8f2c7e6a5d77"],
  admin_key_id: ["01a1f0c2-b1a4-7f2b-8f0d-6e7c2b9d4a44"],
  subject_id: ["01a203b4-b71a-76fe-9c67-e2d507f95a68"],
  request_id: ["01a203b4-b71a-76fe-9c67-e2d507f95a68"],
  name: ["Acme"],
  display_prefix: ["tg-4f1c9a"],
  secret: ["tg-4f1c9a…"],
  requests_per_minute: [600],
  tokens_per_minute: [200_000],
  concurrent_requests: [20],
  overlap_seconds: [3_600],
  created_at: ["2026-11-22T09:30:00.000Z", 1_795_358_504],
  created: [1_795_358_504],
  at: ["2026-11-22T09:30:00.000Z"],
  payment_id: ["invoice-4711"],
  amount_usd: ["25"],
  available_usd: ["41.75"],
  low_balance_usd: ["5"],
  held_usd: ["0.0051605"],
  spent_usd: ["16.25"],
  left_usd: ["8.7448395"],
  renews_at: ["2026-12-01T00:00:00.000Z", 1_796_083_200],
  period_start: ["2026-11-01T00:00:00.000Z"],
  period: ["month"],
  reason: ["Paid by bank transfer"],
  age_seconds: [2.5],
  duration_ms: [2_096],
  action: ["api_key.revoke"],
  from: ["2026-01-01T00:00:00.000Z"],
  to: ["2026-11-22T09:30:00.000Z"],
  start: ["2026-11-22T00:00:00.000Z"],
  time_zone: ["Europe/Berlin"],
  group_by: ["model,provider"],
  cost_usd: ["0.0125"],
  webhook_id: ["01a203b4-c0d2-7b31-a2f4-9d1c5e7f8a55"],
  event_id: ["01a203b4-d3e4-7c42-b3a5-0e2d6f809b66"],
  url: ["https://example.com/tollgate"],
  event_type: ["balance.low"],
  attempts: [1]
}
