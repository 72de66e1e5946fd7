/**
 * Which addresses belong to the public internet. A URL that a stranger wrote may lead to these and to no others: all
 * else is this machine, our network, a cloud's own services, or nobody.
 *
 * IPv4 is public unless listed. IPv6 is the reverse, because most of it is not given to anybody: only global unicast,
 * without what is reserved in it, and the NAT64 form of a public IPv4 address, which is how a network without IPv4
 * reaches it. The ranges are IANA's registries of special-purpose addresses.
 */
import { BlockList, isIP } from "node:net"

type Range = readonly [network: string, bits: number]

const closedIpv4: ReadonlyArray<Range> = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // shared by carriers (CGNAT); Alibaba's metadata service
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // Azure's services for the machine itself, though the range is public
  ["169.254.0.0", 16], // link-local; metadata services
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments; Oracle's metadata service
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays, given up
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4] // reserved; broadcast
]

const nat64 = "64:ff9b::"
const openIpv6: ReadonlyArray<Range> = [
  ["2000::", 3], // global unicast
  [nat64, 96]
]
const closedIpv6: ReadonlyArray<Range> = [
  ["2001::", 23], // protocol assignments, Teredo among them
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4: leads to any IPv4 address, and nobody serves it any more
  ["3fff::", 20] // documentation
]

const listOf = (family: "ipv4" | "ipv6", ranges: ReadonlyArray<Range>): BlockList => {
  const list = new BlockList()
  for (const [network, bits] of ranges) list.addSubnet(network, bits, family)
  return list
}

const closed4 = listOf("ipv4", closedIpv4)
const open6 = listOf("ipv6", openIpv6)
const closed6 = listOf("ipv6", [
  ...closedIpv6,
  ...closedIpv4.map(([network, bits]): Range => [`${nat64}${network}`, 96 + bits])
])

/** True for the text of an address that the public internet routes. */
export const isPublic = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !closed4.check(address, "ipv4")
    case 6:
      return open6.check(address, "ipv6") && !closed6.check(address, "ipv6")
    default:
      return false
  }
}
