/**
 * Organizations, projects and environments, as operators name them: by id, or by name from the organization down, such
 * as `Acme/shop/production`. Something whose name has a slash is named by its id.
 */
import { Effect, Predicate } from "effect"

import { environmentId, organizationId, projectId } from "../domain/Ids.ts"
import { AdminClient } from "./AdminClient.ts"
import { Refused } from "./AdminFailure.ts"

const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

interface Named {
  readonly id: string
  readonly name: string
}

interface NamedPage {
  readonly data: ReadonlyArray<Named>
  readonly next_cursor: string | null
}

/** The only one with this name on all pages. */
const onlyNamed = Effect.fnUntraced(function* <E, R>(
  what: string,
  name: string,
  read: (query: { readonly limit: number; readonly cursor?: string }) => Effect.Effect<NamedPage, E, R>
) {
  const ids: Array<string> = []
  for (let cursor: string | null | undefined; cursor !== null && ids.length < 2;) {
    const page: NamedPage = yield* read({ limit: 200, ...(Predicate.isNotNullish(cursor) && { cursor }) })
    ids.push(...page.data.filter((entry) => entry.name === name).map(({ id }) => id))
    cursor = page.next_cursor
  }
  const [id, another] = ids
  if (id === undefined) return yield* new Refused({ message: `not_found: There is no ${what} "${name}"` })
  if (another !== undefined) {
    return yield* new Refused({ message: `conflict: More than one ${what} has the name "${name}"; give an id` })
  }
  return id
})

/** The id of an organization: given itself, or as a name that no other organization has. */
export const organizationOf = Effect.fnUntraced(function* (text: string) {
  if (isId(text)) return organizationId(text)
  const { tenants } = yield* AdminClient
  return organizationId(
    yield* onlyNamed("organization", text, (page) => tenants.listOrganizations({ query: { ...page, name: text } }))
  )
})

/** The name behind the last slash, and all before it. */
const split = (text: string): readonly [string, string] | undefined => {
  const at = text.lastIndexOf("/")
  return at > 0 && at < text.length - 1 ? [text.slice(0, at), text.slice(at + 1)] : undefined
}

const mustBe = (what: string, form: string) =>
  new Refused({ message: `invalid_request: ${what}: must be an id, or names such as ${form}` })

/** The id of a project: given itself, or as `ORGANIZATION/NAME`. */
export const projectOf = Effect.fnUntraced(function* (text: string) {
  if (isId(text)) return projectId(text)
  const parts = split(text)
  if (parts === undefined) return yield* mustBe("project", "Acme/shop")
  const [parent, name] = parts
  const id = yield* organizationOf(parent)
  const { tenants } = yield* AdminClient
  return projectId(yield* onlyNamed("project", name, (query) => tenants.listProjects({ params: { id }, query })))
})

/** The id of an environment: given itself, or as `ORGANIZATION/PROJECT/NAME`. */
export const environmentOf = Effect.fnUntraced(function* (text: string) {
  if (isId(text)) return environmentId(text)
  const parts = split(text)
  if (parts === undefined) return yield* mustBe("environment", "Acme/shop/production")
  const [parent, name] = parts
  const id = yield* projectOf(parent)
  const { tenants } = yield* AdminClient
  return environmentId(
    yield* onlyNamed("environment", name, (query) => tenants.listEnvironments({ params: { id }, query }))
  )
})
