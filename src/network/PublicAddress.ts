/**
 * Decides which addresses belong to the public internet. A URL that a client wrote may lead to these and to no others:
 * the rest are this machine, our network, the services of a cloud, or unassigned.
 *
 * An IPv4 address is public unless it is listed here. Most of IPv6 is unassigned, so the opposite holds there: public
 * are global unicast, except for its reserved ranges, and the NAT64 form of a public IPv4 address, which a network
 * without IPv4 uses to reach it. The ranges come from IANA's registries of special-purpose addresses.
 */
import { BlockList, isIP } from "node:net"

type Range = readonly [network: string, bits: number]

const reservedIpv4: ReadonlyArray<Range> = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT; Alibaba's metadata service
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // Azure's services for its virtual machines, in a range that is otherwise public
  ["169.254.0.0", 16], // link-local; metadata services
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments; Oracle's metadata service
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays, deprecated
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4] // reserved; broadcast
]

const nat64 = "64:ff9b::"
const publicIpv6: ReadonlyArray<Range> = [
  ["2000::", 3], // global unicast
  [nat64, 96]
]
const reservedIpv6: ReadonlyArray<Range> = [
  ["2001::", 23], // protocol assignments, including Teredo
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4, deprecated: it can lead to any IPv4 address
  ["3fff::", 20] // documentation
]

const listOf = (family: "ipv4" | "ipv6", ranges: ReadonlyArray<Range>): BlockList => {
  const list = new BlockList()
  for (const [network, bits] of ranges) list.addSubnet(network, bits, family)
  return list
}

const reserved4 = listOf("ipv4", reservedIpv4)
const public6 = listOf("ipv6", publicIpv6)
const reserved6 = listOf("ipv6", [
  ...reservedIpv6,
  ...reservedIpv4.map(([network, bits]): Range => [`${nat64}${network}`, 96 + bits])
])

/** True if `address` is the text of a public IPv4 or IPv6 address. */
export const isPublic = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !reserved4.check(address, "ipv4")
    case 6:
      return public6.check(address, "ipv6") && !reserved6.check(address, "ipv6")
    default:
      return false
  }
}
