import { assert, describe, it } from "@effect/vitest"

import { type ListColumns, textList } from "../../src/cli/AdminOutput.ts"
import { budgetColumns } from "../../src/cli/BudgetCommands.ts"
import { keyColumns } from "../../src/cli/KeyCommands.ts"
import { auditColumns } from "../../src/cli/OperatorCommands.ts"
import { requestListColumns } from "../../src/cli/RequestCommands.ts"

const id = "018f2f4e-7c1a-7a3b-9c4d-0123456789ab"
const time = "2026-11-22T10:15:30.123Z"

/** Rows with members of the usual lengths. */
const lists: Record<string, readonly [ListColumns, Record<string, string | number | null | object>]> = {
  "key list": [
    keyColumns,
    {
      id,
      name: "checkout-service",
      display_prefix: "tg-Ab12Cd",
      last_used_at: time,
      expires_at: time,
      revoked_at: time
    }
  ],
  "budget list": [
    budgetColumns,
    {
      id,
      subject: "organization",
      organization_id: id,
      project_id: null,
      api_key_id: null,
      period: "month",
      time_zone: "America/New_York",
      amount_usd: "25000.00",
      left_usd: "24871.123456789"
    }
  ],
  "requests list": [
    requestListColumns,
    {
      at: time,
      id,
      outcome: "rate_limit_exceeded",
      model: "claude-sonnet-4.5",
      attempts: 1,
      cost_usd: "0.0123456789"
    }
  ],
  audit: [
    auditColumns,
    {
      at: time,
      actor: { name: "ADMIN_API_KEY" },
      action: "webhook_delivery.redeliver",
      subject_id: id,
      organization_id: id
    }
  ]
}

describe("The table of a list", () => {
  for (const [name, [columns, row]] of Object.entries(lists)) {
    it(`of ${name} has room on a terminal of 120 columns, with the whole id of what it lists`, () => {
      const lines = textList(columns)({ data: [row], next_cursor: null } as never)
      assert.lengthOf(lines, 2)
      for (const line of lines) assert.isAtMost(line.length, 120, line)
      assert.include(lines[1], id)
    })
  }

  it("shows times by the minute or day, the ends of ids, and that something is missing", () => {
    const row = { id, subject: "project", organization_id: id, project_id: "018f-77", api_key_id: null }
    const [, budget] = textList(budgetColumns)({ data: [row], next_cursor: null } as never)
    assert.match(budget ?? "", / project +018f-77 +- /)
    const key = { id, name: "k", display_prefix: "tg-", last_used_at: time, expires_at: time, revoked_at: null }
    const [, shown] = textList(keyColumns)({ data: [key], next_cursor: null } as never)
    assert.match(shown ?? "", / 2026-11-22 10:15 +2026-11-22 +-$/)
    const [, event] = textList(auditColumns)({ data: [lists["audit"]?.[1] ?? {}], next_cursor: null } as never)
    assert.match(event ?? "", / …0123456789ab$/)
  })
})
