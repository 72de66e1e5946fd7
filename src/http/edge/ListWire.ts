/** How lists, times and pages look on the wire. */
import { DateTime } from "effect"

import { defaultPage } from "../../api/admin/AdminRoutes.ts"
import type { Page, PageRequest } from "../../domain/Page.ts"

export const timeOf = (millis: number): DateTime.Utc => DateTime.makeUnsafe(millis)

export const timeOrNull = (millis: number | undefined): DateTime.Utc | null =>
  millis === undefined ? null : timeOf(millis)

/** Milliseconds since 1970. */
export const millisOf = (time: DateTime.Utc): number => DateTime.toEpochMillis(time)

export const pageRequestOf = (query: { readonly limit?: number; readonly cursor?: string }): PageRequest => ({
  limit: query.limit ?? defaultPage,
  cursor: query.cursor
})

export const listBody = <A, B>(page: Page<A>, write: (item: A) => B) => ({
  object: "list" as const,
  data: page.items.map(write),
  next_cursor: page.next ?? null
})
