/**
 * Opens sockets to hosts that a stranger named. The rule: the addresses that are checked are the ones the socket is
 * given. The check sits in the lookup of the connection itself, so that no second answer of the name's owner can lead
 * elsewhere, and every connection passes it, whichever redirect or retry asks for one.
 */
import { Resolver } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"

import { buildConnector } from "@effect/platform-node/Undici"
import { Duration } from "effect"

/** The addresses of a host name, at least one. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<string>>

/** The host is or has an address that may not be reached. */
export class ClosedAddress extends Error {}

/** Milliseconds until a name server that does not answer is asked again, and how often it is asked. */
const nameServerPatience = { timeout: 1_500, tries: 2 }

/** Asks the name servers. The system's own lookup would hold one of its few threads for as long as they are silent. */
export const nameServers = (): Resolve => {
  const resolver = new Resolver(nameServerPatience)
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason
    return [ipv4, ipv6].flatMap((found) => (found.status === "fulfilled" ? found.value : []))
  }
}

/** Connects only if every address of the host passes; one that does not speaks against the host. */
export const connector = (options: {
  readonly resolve: Resolve
  readonly isAllowed: (address: string) => boolean
  /** Until the socket is open, lookup and TLS included. */
  readonly patience: Duration.Duration
}): buildConnector.connector => {
  const { resolve, isAllowed } = options
  const checked = async (hostname: string) => {
    const addresses = await resolve(hostname)
    if (addresses.length === 0 || !addresses.every(isAllowed)) throw new ClosedAddress()
    return addresses.map((address) => ({ address, family: isIP(address) }))
  }
  // Node asks for all addresses at once because it may pick the family.
  const lookup: LookupFunction = (hostname, _, callback) =>
    void checked(hostname).then(
      (addresses) => callback(null, addresses),
      (error) => callback(error, [])
    )
  const connect = buildConnector({
    lookup,
    autoSelectFamily: true,
    allowH2: false,
    timeout: Duration.toMillis(options.patience)
  })
  // An address needs no lookup, so Node makes none.
  return (target, callback) =>
    isIP(target.hostname) === 0 || isAllowed(target.hostname)
      ? connect(target, callback)
      : callback(new ClosedAddress(), null)
}
