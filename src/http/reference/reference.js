/**
 * What the reference gains by a script: buttons that copy, one language for all samples, the place in the contents, and
 * forms that send a request. The page reads completely without it. It is the browser's own JavaScript, served as it is.
 */

/** The address of the gateway, with any prefix of the path in front of the page's own. */
const origin = new URL(".", location.href).href.replace(/\/$/, "")
for (const place of document.querySelectorAll("[data-origin]")) place.textContent = origin

/** Over plain HTTP a page may not write to the clipboard, but it may copy what is selected. */
const copySelected = (text) => {
  const area = document.createElement("textarea")
  area.value = text
  area.readOnly = true
  area.className = "hidden"
  document.body.append(area)
  area.select()
  const copied = document.execCommand("copy")
  area.remove()
  return copied
}

const copyText = async (text) => {
  if (!navigator.clipboard) return copySelected(text)
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copySelected(text)
  )
}

for (const block of document.querySelectorAll(".card pre:not(.result)")) {
  const frame = document.createElement("div")
  frame.className = "copyable"
  if (block.dataset.language) frame.dataset.language = block.dataset.language
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  button.setAttribute("aria-label", `Copy: ${block.getAttribute("aria-label")}`)
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(block.textContent)) ? "Copied" : "Not copied"
    setTimeout(() => (button.textContent = "Copy"), 1500)
  })
  block.replaceWith(frame)
  frame.append(block, button)
}

const choices = [...document.querySelectorAll(".tabs input")]
const choose = (language) => {
  for (const choice of choices) choice.checked = choice.value === language
}
const remembered = "tollgate-language"
try {
  const language = localStorage.getItem(remembered)
  if (choices.some(({ value }) => value === language)) choose(language)
} catch {
  // Storage may be switched off; the choice then lasts as long as the page.
}
for (const choice of choices) {
  choice.addEventListener("change", () => {
    const top = choice.getBoundingClientRect().top
    choose(choice.value)
    // Samples above have another length now: what was clicked stays where it was.
    scrollBy({ top: choice.getBoundingClientRect().top - top, behavior: "instant" })
    try {
      localStorage.setItem(remembered, choice.value)
    } catch {
      // See above.
    }
  })
}

const contents = document.querySelector("#contents")
const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]))
contents.addEventListener("click", ({ target }) => {
  if (target.closest("a") && contents.matches(":popover-open")) contents.hidePopover()
})
const places = [...links.keys()].map((id) => document.getElementById(id)).filter((place) => place !== null)
let marked = false
const mark = () => {
  marked = false
  const passed = places.filter((place) => place.getBoundingClientRect().top < innerHeight / 3)
  const current = links.get((passed.at(-1) ?? places[0])?.id)
  for (const link of links.values()) {
    if (link !== current) link.removeAttribute("aria-current")
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "location")
      // Scrolls the contents alone, and never the page.
      const place = link.offsetTop - contents.clientHeight / 2
      if (contents.scrollHeight > contents.clientHeight) contents.scrollTop = place
    }
  }
}
const markSoon = () => {
  if (!marked) requestAnimationFrame(mark)
  marked = true
}
addEventListener("scroll", markSoon, { passive: true })
addEventListener("resize", markSoon, { passive: true })
mark()

/** The most characters of a response that are shown. */
const maxShown = 200_000

const requestOf = (form) => {
  const headers = new Headers()
  const query = new URLSearchParams()
  let { path } = form.dataset
  let body
  for (const field of form.querySelectorAll("[data-in]")) {
    const { name, value } = field
    const place = field.dataset.in
    if (place === "key") headers.set("authorization", `Bearer ${value.trim()}`)
    else if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (place === "query" && value !== "") query.set(name, value)
    else if (place === "header" && value !== "") headers.set(name, value)
    else if (place === "body") {
      headers.set("content-type", "application/json")
      body = value
    } else if (place === "form" && (field.files?.[0] ?? value) !== "") {
      body ??= new FormData()
      body.append(name, field.files?.[0] ?? value)
    }
  }
  const address = `${origin}${path}${query.size > 0 ? `?${query}` : ""}`
  return [address, { method: form.dataset.method, headers, ...(body !== undefined && { body }) }]
}

const indented = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** Shows the response as it arrives. */
const show = async (response, result) => {
  const id = response.headers.get("x-request-id")
  const head = `${response.status} ${response.statusText}${id === null ? "" : `\nx-request-id: ${id}`}\n\n`
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  let text = ""
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    text += decoder.decode(value, { stream: !done })
    if (text.length > maxShown) {
      text = `${text.slice(0, maxShown)}…`
      await reader?.cancel()
      break
    }
    if (done) break
    result.textContent = head + text
  }
  result.textContent = head + indented(text)
}

const keys = [...document.querySelectorAll(".key")]
for (const key of keys) {
  key.addEventListener("input", () => {
    for (const other of keys) if (other.dataset.scheme === key.dataset.scheme) other.value = key.value
  })
}

for (const card of document.querySelectorAll(".try")) {
  card.hidden = false
  const form = card.querySelector("form")
  const button = form.querySelector("button")
  const result = form.querySelector(".result")
  form.addEventListener("submit", async (event) => {
    event.preventDefault()
    button.disabled = true
    result.hidden = false
    result.textContent = "…"
    try {
      await show(await fetch(...requestOf(form)), result)
    } catch (error) {
      result.textContent = `The request could not be sent: ${error.message}`
    }
    button.disabled = false
  })
}
