import { assert, describe, it } from "@effect/vitest"

import type { ChatRequest } from "../../src/domain/Conversation.ts"
import { audioTokens, estimatePromptTokens, textTokens } from "../../src/domain/TokenCount.ts"

/** Texts written for this test, with their exact number of tokens in OpenAI's `o200k_base`. */
const counted = [
  [
    "English prose",
    65,
    "The committee met on Tuesday morning to discuss the budget for the coming year. After a long" +
      " debate, its members agreed that the library should stay open on weekends, although the heat" +
      "ing costs had risen sharply since the winter. A final decision was postponed until the archi" +
      "tect could present a revised estimate for the renovation of the old reading room."
  ],
  [
    "a chat message",
    38,
    "Hi! Could you please help me write a short, friendly email to my landlord? The kitchen tap h" +
      "as been dripping for 3 days and I'd like someone to look at it before Friday."
  ],
  [
    "TypeScript",
    104,
    "export function groupBy<T, K>(items: ReadonlyArray<T>, keyOf: (item: T) => K): Map<K, Array<" +
      "T>> {\n  const groups = new Map<K, Array<T>>()\n  for (const item of items) {\n    const key = " +
      "keyOf(item)\n    const group = groups.get(key)\n    if (group === undefined) {\n      groups.se" +
      "t(key, [item])\n    } else {\n      group.push(item)\n    }\n  }\n  return groups\n}\n"
  ],
  [
    "Python",
    96,
    "import csv\nfrom collections import defaultdict\n\n\ndef total_by_customer(path: str) -> dict[st" +
      'r, float]:\n    totals = defaultdict(float)\n    with open(path, newline="") as handle:\n      ' +
      '  for row in csv.DictReader(handle):\n            if row["status"] != "paid":\n               ' +
      ' continue\n            totals[row["customer_id"]] += float(row["amount"]) / 100\n    return di' +
      "ct(sorted(totals.items(), key=lambda kv: -kv[1]))\n"
  ],
  [
    "JSON",
    53,
    '{"order":{"id":48213,"lines":[{"sku":"AB-1009","quantity":2,"price":19.95},{"sku":"ZX-77","q' +
      'uantity":1,"price":240.5}],"paid":true,"note":null}}'
  ],
  [
    "Chinese",
    67,
    "委员会星期二上午开会讨论了明年的预算。经过长时间的辩论,成员们同意图书馆周末继续开放,尽管冬天以来取暖费用大幅上涨。最后的决定被推迟,直到建筑师能够提交旧阅览室翻修工程的新估价。"
  ],
  [
    "Japanese",
    59,
    "委員会は火曜日の朝に来年の予算について話し合いました。長い議論の末、図書館は週末も開館を続けることで合意しましたが、暖房費は冬から大きく上がっています。"
  ],
  [
    "German",
    53,
    "Der Ausschuss traf sich am Dienstagmorgen, um den Haushalt für das kommende Jahr zu besprech" +
      "en. Nach langer Debatte einigten sich die Mitglieder darauf, dass die Bibliothek am Wochenen" +
      "de geöffnet bleiben soll, obwohl die Heizkosten seit dem Winter stark gestiegen sind."
  ],
  [
    "Russian",
    54,
    "Комитет собрался во вторник утром, чтобы обсудить бюджет на следующий год. После долгих спор" +
      "ов его члены согласились, что библиотека должна оставаться открытой по выходным, хотя расход" +
      "ы на отопление резко выросли с зимы."
  ],
  [
    "digits",
    39,
    "3.14159265358979323846264338327950288419716939937510 2.7182818284590452353602874713526624977" + "5724709369995"
  ]
] as const

const request = (parts: Partial<ChatRequest>): ChatRequest => ({
  messages: [],
  tools: [],
  toolChoice: "auto",
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: [],
  ...parts
})

const user = (...content: Extract<ChatRequest["messages"][number], { role: "user" }>["content"]) =>
  ({ role: "user", content }) as const

describe("TokenCount", () => {
  for (const [name, exact, text] of counted) {
    it(`estimates ${name} within a fifth`, () => {
      const share = textTokens(text) / exact
      assert.isTrue(share >= 0.8 && share <= 1.2, `${textTokens(text)} for ${exact}`)
    })
  }

  it("counts no tokens for the empty text and at least one for any other", () => {
    assert.strictEqual(textTokens(""), 0)
    for (const text of [" ", "\n", "a", "7", ".", "é", "字", "😀", "\ud800"]) assert.isAtLeast(textTokens(text), 1)
  })

  it("grows with the text and stays in proportion to it", () => {
    const once = textTokens("one more line of the same text\n")
    assert.approximately(textTokens("one more line of the same text\n".repeat(10_000)), once * 10_000, once * 1_000)
    assert.isAtMost(textTokens("a".repeat(1_000_000)), 1_000_000 / 4)
  })

  it("counts an image flat and audio by its length", () => {
    const image = request({ messages: [user({ type: "image", url: `data:image/png;base64,${"A".repeat(90_000)}` })] })
    assert.approximately(estimatePromptTokens(image), 1_000, 10)
    // Ten seconds of 16 kHz mono WAV.
    const data = "A".repeat((320_000 * 4) / 3)
    const audio = request({ messages: [user({ type: "audio", format: "wav", data }, { type: "text", text: "What?" })] })
    assert.strictEqual(audioTokens(audio), 320)
    assert.isAbove(estimatePromptTokens(audio), 320)
    assert.strictEqual(audioTokens(image), 0)
  })

  it("samples a long text, within a few percent of counting it whole", () => {
    const line = "The gateway holds 12.50 USD before it calls a provider; 网关在调用之前预留金额。\n"
    const short = textTokens(line.repeat(100))
    assert.approximately(textTokens(line.repeat(20_000)) / (short * 200), 1, 0.05)
    const halves = "word ".repeat(100_000) + "字".repeat(500_000)
    assert.approximately(textTokens(halves) / (textTokens("word ".repeat(10_000)) * 10 + 500_000 * 0.8), 1, 0.05)
  })

  it("counts tools, the answer's schema and the calls of earlier turns", () => {
    const schema = { type: "object", properties: { city: { type: "string", description: "Name of the city" } } }
    const plain = estimatePromptTokens(request({ messages: [user({ type: "text", text: "Hi" })] }))
    const tools = [{ name: "get_weather", description: "The weather of a city", parameters: schema }]
    const called = {
      role: "assistant",
      content: [],
      toolCalls: [{ id: "1", name: "f", arguments: '{"city":"Bern"}' }],
      reasoningDetails: []
    } as const
    const more: ReadonlyArray<Partial<ChatRequest>> = [
      { tools },
      { responseFormat: { type: "json_schema", name: "city", strict: true, schema } },
      { messages: [user({ type: "text", text: "Hi" }), called] }
    ]
    for (const parts of more) {
      const messages = parts.messages ?? [user({ type: "text", text: "Hi" })]
      assert.isAbove(estimatePromptTokens(request({ ...parts, messages })), plain + 10)
    }
  })
})
