/** Images written into their URL (`data:`), as clients send them. Types are MIME types in lower case. */

const mimeEnd = ";base64,"

/** The image types that both Anthropic and Amazon Bedrock document. */
export const commonImageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const

/** The two halves of `data:<mime>;base64,<data>`, or `undefined` for another URL. */
export const dataUri = (url: string): { readonly mime: string; readonly data: string } | undefined => {
  const end = /^data:/i.test(url) ? url.indexOf(mimeEnd) : -1
  if (end < 0) return undefined
  const mime = url.slice("data:".length, end).toLowerCase()
  return { mime: mime === "image/jpg" ? "image/jpeg" : mime, data: url.slice(end + mimeEnd.length) }
}
