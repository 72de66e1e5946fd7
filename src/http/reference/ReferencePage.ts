/**
 * The API reference as one page of HTML, made from the OpenAPI document alone. It is complete without its script: what
 * is folded opens by itself, and the language of the samples is a choice that the style sheet reads.
 */
import { anchorOf, headingsIn, markdown } from "./Markdown.ts"
import { html, type Markup } from "./Markup.ts"
import type { OpenApiDocument } from "./OpenApiShape.ts"
import { methodLabel, operationsIn, operationView, type PlacedOperation, titleOf } from "./OperationView.ts"

interface Group {
  readonly name: string
  readonly description: string | undefined
  readonly operations: ReadonlyArray<PlacedOperation>
}

const groupsIn = (document: OpenApiDocument): ReadonlyArray<Group> => {
  const operations = operationsIn(document)
  return document.tags.map(({ description, name }) => ({
    name,
    description,
    operations: operations.filter(({ operation }) => operation.tags.includes(name))
  }))
}

const navigation = (groups: ReadonlyArray<Group>, headings: ReadonlyArray<string>): Markup =>
  html`<nav id="contents" popover aria-label="Contents">
    <p class="nav-group">Introduction</p>
    <ul>
      ${headings.map((heading) => html`<li><a href="#${anchorOf(heading)}">${heading}</a></li>`)}
    </ul>
    ${groups.map(
      ({ name, operations }) =>
        html`<p class="nav-group">${name}</p>
          <ul>
            ${operations.map(
              (placed) =>
                html`<li>
                  <a href="#${placed.operation.operationId}"
                    ><span>${titleOf(placed)}</span> ${methodLabel(placed.method)}</a
                  >
                </li>`
            )}
          </ul>`
    )}
  </nav>`

const firstSteps: Markup = html`<div class="samples">
  <div class="card">
    <div class="bar"><span class="title">Address and key</span></div>
    <pre
      tabindex="0"
      aria-label="Address and key"
    ><code>export TOLLGATE_URL=<span data-origin>http://127.0.0.1:8080</span>
export TOLLGATE_KEY=tg-…</code></pre>
    <p class="note">Every sample reads these two variables.</p>
  </div>
</div>`

const operationList = ({ operations }: Group): Markup => html`<div class="samples">
  <div class="card">
    <div class="bar"><span class="title">Operations</span></div>
    <ul class="operations">
      ${operations.map(
        ({ method, operation, path }) =>
          html`<li>
            ${methodLabel(method)} <a href="#${operation.operationId}"><code>${path}</code></a>
          </li>`
      )}
    </ul>
  </div>
</div>`

/** Addresses of the page's own files, relative to it, so that they hold behind any prefix of the path. */
export interface PageFiles {
  readonly styleSheet: string
  readonly script: string
  readonly openApi: string
}

export const referencePage = (document: OpenApiDocument, files: PageFiles): string => {
  const { description = "", title } = document.info
  const groups = groupsIn(document)
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} API reference</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${files.styleSheet}" />
        <script src="${files.script}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <button type="button" popovertarget="contents" aria-label="Contents">☰</button>
          <a class="brand" href="#main">${title}</a>
          <span class="muted">API reference</span>
          <a class="document" href="${files.openApi}">OpenAPI</a>
        </header>
        <div class="page">
          ${navigation(groups, headingsIn(description))}
          <main id="main" tabindex="-1">
            <section class="operation introduction">
              <div class="text">
                <h1>API reference</h1>
                ${markdown(description)}
              </div>
              ${firstSteps}
            </section>
            ${groups.map(
              (group) =>
                html`<div class="group">
                  <div class="operation overview">
                    <div class="text">
                      <h2 id="group-${anchorOf(group.name)}">${group.name}</h2>
                      ${group.description !== undefined && markdown(group.description)}
                    </div>
                    ${operationList(group)}
                  </div>
                  ${group.operations.map((placed) => operationView(document, placed))}
                </div>`
            )}
          </main>
        </div>
      </body>
    </html>`
  return page.markup
}
