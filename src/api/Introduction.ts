/** The beginning of the API reference, in Markdown: what holds for every operation. */
export const introduction = `
Tollgate speaks the API of OpenAI: point an OpenAI client at it, and one key reaches every model of its catalog,
whichever provider serves it. It chooses a model for each request or calls the one that is named, tries the next
provider when one fails, and charges each request once.

## Authentication

Send an API key of this gateway with every request, as \`Authorization: Bearer <key>\`. The \`openai\` packages do
that with the key they are given. A key belongs to an organization, whose credit pays for its requests; it may
be limited to some endpoints, to some models and to a number of requests a minute.

Operations under \`/admin\` are for operators and take an admin key in the same way.

## Request ids and receipts

Every response names its request in the header \`x-request-id\`. \`GET /v1/generations/{id}\` gives the receipt of
that request: which providers were tried, which model answered and why it was chosen, and what was charged.
\`usage.cost\` in an answer is the same charge, in US dollars.

## Streams

With \`stream: true\` an answer comes as server-sent events, one JSON object in each \`data:\` line, and ends with
\`data: [DONE]\`. Lines that begin with a colon are comments that keep the connection open. A stream that breaks
ends with a chunk whose \`finish_reason\` is \`error\` and which has a top-level \`error\`; it costs nothing.

## Errors

Every error has the same body, \`{"error": {"code": …, "message": …}}\`. The code is for programs and comes from a
closed list; the message is for people and may change. Whoever gets 429 should wait for as many seconds as
\`retry-after\` says. A request that failed costs nothing.

## Repeats

A client that lost its connection does not know whether its request was answered. With the header
\`Idempotency-Key\` it can send the same request again for 24 hours: the answer is the first one, with
\`idempotent-replayed: true\`, and nothing is charged again.
`.trim()
