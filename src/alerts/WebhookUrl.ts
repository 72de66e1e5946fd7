/**
 * Which URLs a webhook may have. What the name of a host leads to can change at any time, so this finds only what is
 * wrong with the text; the addresses are checked by every connection.
 */
import { isIP } from "node:net"

import { isPublic } from "../network/PublicAddress.ts"

const maxLength = 2_048

/** What is wrong with a URL, to follow its name; `undefined` if nothing is. */
export const webhookUrlFault = (text: string, allowsPrivate: boolean): string | undefined => {
  const url = text.length > maxLength ? null : URL.parse(text)
  if (url === null) return `must be a URL of at most ${maxLength} characters`
  if (url.protocol !== "https:" && !(allowsPrivate && url.protocol === "http:")) return "must begin with https://"
  if (url.username !== "" || url.password !== "") return "must not have a user name or a password in it"
  if (url.hash !== "") return "must not have a fragment"
  const host = url.hostname.replace(/^\[|\]$/g, "")
  if (!allowsPrivate && ((isIP(host) !== 0 && !isPublic(host)) || /(^|\.)localhost\.?$/i.test(host)))
    return "must lead to a public address"
  return undefined
}
