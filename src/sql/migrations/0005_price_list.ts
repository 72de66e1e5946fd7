/** The prices that were ever in force, so that a charge can be recomputed after the catalog has changed. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const priceListMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Amounts of money in `price` are decimal text, because JSON numbers would round them.
  yield* sql`CREATE TABLE price_list (
    catalog_version text NOT NULL,
    endpoint        text NOT NULL,
    price           jsonb NOT NULL,
    first_seen_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (catalog_version, endpoint)
  )`
  yield* sql`CREATE TRIGGER price_list_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_list
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`
})
