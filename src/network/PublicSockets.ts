/**
 * Opens sockets to hosts that somebody else named, on public addresses only. The addresses that are checked must be
 * the ones that the socket connects to. So the check is part of the connection's own DNS lookup: a second answer from
 * the owner of the name cannot lead elsewhere, and no redirect or retry can avoid it.
 */
import { Resolver } from "node:dns/promises"
import { isIP, type LookupFunction } from "node:net"

import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { buildConnector } from "@effect/platform-node/Undici"
import { Duration, Effect, type Scope } from "effect"
import type { HttpClient } from "effect/http"

/** Looks up the addresses of a host name. Rejects if there is none. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<string>>

/** The host is, or has, an address that may not be reached. */
export class ForbiddenAddress extends Error {}

/** How many milliseconds a name server has for its answer, and how often it is asked. */
const resolverOptions = { timeout: 1_500, tries: 2 }

/** Asks the name servers directly. The lookup of the system would block one of Node's few threads until they answer. */
export const nameServerLookup = (): Resolve => {
  const resolver = new Resolver(resolverOptions)
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason
    return [ipv4, ipv6].flatMap((found) => (found.status === "fulfilled" ? found.value : []))
  }
}

export interface GuardOptions {
  readonly resolve: Resolve
  /** Whether a connection may be made to this address. */
  readonly isAllowed: (address: string) => boolean
  /** Until the socket is open, lookup and TLS included. */
  readonly connectTimeout: Duration.Duration
}

/**
 * A client that reaches allowed addresses only. It is made here rather than provided by a layer, because layers are
 * shared and the sockets of the client for providers may go anywhere.
 */
export const guardedClient = Effect.fnUntraced(function* (
  options: GuardOptions
): Effect.fn.Return<HttpClient.HttpClient, never, Scope.Scope> {
  const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
    connect: guardedConnector(options),
    // One request per connection: another one to the same host is unlikely.
    pipelining: 0,
    allowH2: false
  })
  return yield* NodeHttpClient.makeUndici.pipe(Effect.provideService(NodeHttpClient.Dispatcher, dispatcher))
})

/** Connects only if all addresses of the host are allowed. A single forbidden one is reason enough to refuse. */
const guardedConnector = ({ connectTimeout, isAllowed, resolve }: GuardOptions): buildConnector.connector => {
  const checked = async (hostname: string) => {
    const addresses = await resolve(hostname)
    if (addresses.length === 0 || !addresses.every(isAllowed)) throw new ForbiddenAddress()
    return addresses.map((address) => ({ address, family: isIP(address) }))
  }
  // Node asks for all addresses at once, because it chooses between IPv4 and IPv6 itself.
  const lookup: LookupFunction = (hostname, _, callback) =>
    void checked(hostname).then(
      (addresses) => callback(null, addresses),
      (error) => callback(error, [])
    )
  const connect = buildConnector({
    lookup,
    autoSelectFamily: true,
    allowH2: false,
    timeout: Duration.toMillis(connectTimeout)
  })
  // Node does not look up a host that is an address already, so it is checked here.
  return (target, callback) =>
    isIP(target.hostname) === 0 || isAllowed(target.hostname)
      ? connect(target, callback)
      : callback(new ForbiddenAddress(), null)
}
