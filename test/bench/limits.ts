/**
 * What two gateways on one PostgreSQL admit together under steady overload from both, against the limit,
 * `npm run bench -- limits`. Each limit of requests per minute has a key of its own, and twice the limit is sent, half
 * of it to each gateway. The burst of a full bucket is used up before the minute that is counted.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { finished } from "node:stream/promises"
import { setTimeout as pause } from "node:timers/promises"

import { GatewayProcess } from "../support/GatewayProcess.ts"
import { drive } from "../support/HttpDriver.ts"
import * as PostgresServer from "../support/PostgresServer.ts"

const limits = [60, 600, 6_000]
const countedMillis = 60_000
const burstAtOnce = 64
const adminKey = "bench-admin"
const agent = new Agent({ keepAlive: true, maxSockets: 512 })

const post = async (url: string, body: object): Promise<{ readonly id: string; readonly secret: string }> => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { readonly id: string; readonly secret: string }
}

/** The secrets of new keys, one for each limit. */
const keysOf = async (url: string): Promise<ReadonlyArray<string>> => {
  const admin = `${url}/admin/v1`
  const organization = await post(`${admin}/organizations`, { name: "bench" })
  const project = await post(`${admin}/organizations/${organization.id}/projects`, { name: "bench" })
  const environment = await post(`${admin}/projects/${project.id}/environments`, { name: "bench" })
  const issue = (limit: number) =>
    post(`${admin}/api_keys`, { environment_id: environment.id, name: String(limit), requests_per_minute: limit })
  return Promise.all(limits.map(async (limit) => (await issue(limit)).secret))
}

/** Whether one request is admitted. */
const isAdmitted = async (url: string, key: string): Promise<boolean> => {
  const answer = await drive(`${url}/v1/key`, {
    method: "GET",
    agent,
    headers: { authorization: `Bearer ${key}` },
    isRepeatable: false
  })
  await finished(answer.resume())
  if (answer.statusCode !== 200 && answer.statusCode !== 429) throw new Error(`status ${answer.statusCode}`)
  return answer.statusCode === 200
}

const measure = async (urls: ReadonlyArray<string>, key: string, limit: number) => {
  // The burst: until most of so many at once are refused.
  let burst = 0
  for (let admitted = burstAtOnce; admitted > burstAtOnce / 4; burst += admitted) {
    const all = Array.from({ length: burstAtOnce }, (_, index) => isAdmitted(urls[index % urls.length] ?? "", key))
    admitted = (await Promise.all(all)).filter(Boolean).length
  }
  const sending: Array<Promise<boolean>> = []
  const everyMillis = 60_000 / (2 * limit)
  const startedAt = performance.now()
  for (let sent = 0; sent * everyMillis < countedMillis; sent++) {
    await pause(Math.max(0, startedAt + sent * everyMillis - performance.now()))
    sending.push(isAdmitted(urls[sent % urls.length] ?? "", key))
  }
  const admitted = (await Promise.all(sending)).filter(Boolean).length
  const seconds = (performance.now() - startedAt) / 1_000
  const expected = (limit * seconds) / 60
  return {
    "limit per minute": limit,
    "burst before": burst,
    sent: sending.length,
    "seconds counted": seconds.toFixed(1),
    admitted,
    "beyond the limit": `${(((admitted - expected) / expected) * 100).toFixed(1)} %`
  }
}

const main = async (): Promise<void> => {
  const bin = PostgresServer.binaries()
  if (bin === undefined) return console.error("This benchmark needs the binaries of PostgreSQL (initdb, pg_ctl).")
  const directory = mkdtempSync(join(tmpdir(), "tollgate-bench-"))
  // PostgreSQL may run as another user, who must be able to enter the directory.
  chmodSync(directory, 0o755)
  const server = await PostgresServer.start(bin, join(directory, "postgres"), { max_connections: 60 })
  const gateways: Array<GatewayProcess> = []
  try {
    for (const port of [await PostgresServer.freePort(), await PostgresServer.freePort()]) {
      const variables = { DATABASE_URL: server.url, ADMIN_API_KEY: adminKey, OPENAI_API_KEY: "none" }
      const gateway = new GatewayProcess(port, variables)
      gateways.push(gateway)
      if (!(await gateway.ready)) throw new Error(gateway.output.join(""))
    }
    const urls = gateways.map(({ url }) => url)
    const keys = await keysOf(urls[0] ?? "")
    console.table(await Promise.all(limits.map((limit, index) => measure(urls, keys[index] ?? "", limit))))
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.kill()))
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
process.exit()
