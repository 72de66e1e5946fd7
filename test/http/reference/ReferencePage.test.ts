/** The page is made from any OpenAPI document: operations that join the API need nothing of their own. */
import { assert, describe, it } from "@effect/vitest"

import { javaScriptStyle, jsonStyle, literal, pythonStyle } from "../../../src/http/reference/CodeLiteral.ts"
import { samplesOf } from "../../../src/http/reference/CodeSamples.ts"
import { markdown } from "../../../src/http/reference/Markdown.ts"
import type { OpenApiDocument, OpenApiOperation } from "../../../src/http/reference/OpenApiShape.ts"
import { operationsIn } from "../../../src/http/reference/OperationView.ts"
import { publishedApi } from "../../../src/http/reference/PublishedApi.ts"
import { referencePage } from "../../../src/http/reference/ReferencePage.ts"

const files = { styleSheet: "docs/a.css", script: "docs/a.js", openApi: "openapi.json" }

const hostile = `</pre><script>alert("1")</script><b title='x'>`

const operation = (given: Partial<OpenApiOperation> & { readonly operationId: string }): OpenApiOperation => ({
  tags: ["Keys"],
  parameters: [],
  responses: { 204: { description: "No Content" } },
  security: [{ bearer: [] }],
  ...given
})

const idOf = { name: "id", in: "path", required: true, example: "key/1", schema: { type: "string" } } as const

/** What the gateway does not have: other methods, queries, a schema within itself, markup in texts. */
const invented: OpenApiDocument = {
  openapi: "3.1.0",
  info: { title: hostile, version: "1", description: `## First\n\nSee ${hostile} and [this](javascript:alert(1)).` },
  tags: [{ name: "Keys", description: "All *keys*." }, { name: "Nothing yet" }],
  paths: {
    "/admin/v1/keys/{id}": {
      patch: operation({
        operationId: "keys.update",
        summary: hostile,
        parameters: [idOf, { name: "if-match", in: "header", required: true, schema: { type: "string" } }],
        requestBody: {
          content: {
            "application/json": {
              schema: { $ref: "#/components/schemas/Tree" },
              examples: { one: { summary: hostile, value: { name: `it's ${hostile}`, enabled: true, parent: null } } }
            }
          }
        }
      }),
      delete: operation({ operationId: "keys.delete", deprecated: true, parameters: [idOf] })
    },
    "/admin/v1/keys": {
      get: operation({
        operationId: "keys.list",
        security: [],
        parameters: [
          { name: "state", in: "query", required: true, schema: { type: "string", enum: ["active", "revoked"] } },
          { name: "after", in: "query", schema: { type: "string" } }
        ]
      })
    }
  },
  components: {
    schemas: {
      Tree: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string", description: hostile },
          enabled: { type: "boolean" },
          parent: { anyOf: [{ $ref: "#/components/schemas/Tree" }, { type: "null" }] },
          children: { type: "array", items: { $ref: "#/components/schemas/Tree" } }
        }
      }
    },
    securitySchemes: {}
  }
}

const count = (text: string, part: string): number => text.split(part).length - 1

describe("The page of an invented document", () => {
  const page = referencePage(invented, files)

  it("has every operation, in the contents and in a section", () => {
    for (const {
      operation: { operationId }
    } of operationsIn(invented)) {
      assert.strictEqual(count(page, `<section class="operation" id="${operationId}"`), 1)
      assert.isAtLeast(count(page, `href="#${operationId}"`), 2)
    }
    for (const text of ["DEL", "PATCH", "Query parameters", "Deprecated", "One of <code>&quot;active&quot;</code>"])
      assert.include(page, text)
  })

  it("shows what is within itself once", () => {
    assert.isBelow(page.length, 60_000)
    assert.strictEqual(count(page, `<code class="name">children</code>`), 1)
  })

  it("keeps markup in names, descriptions and examples as text", () => {
    assert.notInclude(page, "<script>")
    assert.notInclude(page, "<b title")
    assert.notMatch(page, /href="javascript:/)
    assert.include(page, "&lt;script&gt;")
  })

  it("has samples that send what must be sent", () => {
    const [update, remove, list] = operationsIn(invented).map((placed) =>
      samplesOf(invented, { ...placed, body: placed.method === "patch" ? { name: "it's" } : undefined })
    )
    assert.strictEqual(
      update?.curl,
      `curl -X PATCH "$TOLLGATE_URL/admin/v1/keys/key%2F1" \\
  -H "Authorization: Bearer $TOLLGATE_KEY" \\
  -H "if-match: {if-match}" \\
  -H "Content-Type: application/json" \\
  -d '{ "name": "it'\\''s" }'`
    )
    assert.include(update?.node, 'method: "PATCH"')
    assert.include(update?.python, "requests.patch(")
    assert.match(remove?.curl ?? "", /^curl -X DELETE /)
    assert.strictEqual(list?.curl, 'curl "$TOLLGATE_URL/admin/v1/keys?state=active"')
    assert.notInclude(list?.node, "headers")
  })
})

describe("The page of the gateway", () => {
  const document = publishedApi("svc")
  const page = referencePage(document, files)

  it("has a sample in each language and an answer for every operation", () => {
    for (const {
      operation: { operationId }
    } of operationsIn(document)) {
      const section = page.split(`<section class="operation" id="${operationId}"`)[1]?.split("</section>")[0] ?? ""
      for (const language of ["curl", "node", "python"]) assert.include(section, `data-language="${language}"`)
      assert.match(section, /class="status good">200</)
      assert.match(section, /class="status bad">401</)
    }
  })

  it("loads nothing but its own style sheet and script, and holds neither itself", () => {
    assert.deepStrictEqual(
      [...page.matchAll(/\s(?:src|href|action|poster|data)="([^"#][^"]*)"/g)].map(([, address]) => address),
      ["data:,", files.styleSheet, files.script, files.openApi]
    )
    assert.notMatch(page, /<style|\sstyle=|\son[a-z]+="|<script(?! src=)/)
  })

  it("has each id once, and leads nowhere that is not there", () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id ?? "")
    assert.deepStrictEqual(ids, [...new Set(ids)])
    for (const [, target = ""] of page.matchAll(/(?:href="#|for="|aria-labelledby="|popovertarget=")([^"]+)"/g))
      assert.include(ids, target)
  })

  it("says of every parameter of a chat what it means", () => {
    const { properties = {} } = document.components.schemas["ChatCompletionRequest"] ?? {}
    const silent = Object.entries(properties).filter(([, { description = "" }]) => description === "")
    assert.deepStrictEqual(
      silent.map(([name]) => name),
      []
    )
  })
})

describe("A literal", () => {
  const value = {
    model: "a",
    "x-b": null,
    deep: { list: [1, "two"], yes: true, no: false, none: [] },
    long: "x".repeat(70)
  }

  it("is the value it stands for", () => {
    assert.deepStrictEqual(JSON.parse(literal(value, jsonStyle)), value)
    assert.deepStrictEqual(new Function(`return ${literal(value, javaScriptStyle)}`)(), value)
    for (const text of ['"x-b": None', '"yes": True', '"no": False', '"list": [1, "two"]'])
      assert.include(literal(value, pythonStyle), text)
  })
})

describe("Markdown", () => {
  it("has paragraphs, headings, lists, code and links", () => {
    const { markup } = markdown("One `a<b`.\nTwo.\n\n## A title\n\n- x\n- [y](#z)")
    assert.deepStrictEqual(markup.replaceAll("\n", "").split(/(?<=\/p>|\/h2>)/), [
      "<p>One <code>a&lt;b</code>. Two.</p>",
      '<h2 id="a-title">A title</h2>',
      '<ul><li>x</li><li><a href="#z">y</a></li></ul>'
    ])
  })
})
