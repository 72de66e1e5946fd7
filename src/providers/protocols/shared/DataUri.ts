/** Media written into a URL, as clients send images. */

const mimeEnd = ";base64,"

/** The two halves of `data:<mime>;base64,<data>`, or `undefined` for another URL. */
export const dataUri = (url: string): { readonly mime: string; readonly data: string } | undefined => {
  const end = /^data:/i.test(url) ? url.indexOf(mimeEnd) : -1
  if (end < 0) return undefined
  const mime = url.slice("data:".length, end).toLowerCase()
  return { mime: mime === "image/jpg" ? "image/jpeg" : mime, data: url.slice(end + mimeEnd.length) }
}
