/**
 * What a request costs inside Effect, `npm run bench -- operations`: a table by stage, and the figures as JSON in the
 * file that `BENCH_JSON` names. With `UPDATE_OPERATIONS=1` they become the figures that the tests compare with.
 */
import { writeFileSync } from "node:fs"
import process from "node:process"

import { countOperations, recordedCounts } from "./OperationCounts.ts"

const counted = await countOperations()
for (const [kind, stages] of Object.entries(counted.stages)) {
  console.log(kind)
  console.table(stages)
}
console.table(counted.totals)
const file = process.env["BENCH_JSON"]
if (file !== undefined) writeFileSync(file, `${JSON.stringify(counted, null, 2)}\n`)
if (process.env["UPDATE_OPERATIONS"] === "1")
  writeFileSync(recordedCounts, `${JSON.stringify(counted.totals, null, 2)}\n`)
