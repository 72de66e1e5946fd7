"""The `openai` package: answers, a stream, a transcription, embeddings. Reads TOLLGATE_URL and TOLLGATE_KEY."""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("TOLLGATE_URL", "http://127.0.0.1:8080") + "/v1",
    api_key=os.environ["TOLLGATE_KEY"],
)

# With `svc-auto` the gateway chooses the model.
answer = client.chat.completions.create(
    model="svc-auto",
    messages=[{"role": "user", "content": "Why is the sky blue?"}],
)
print(answer.choices[0].message.content)
print(answer.model, "answered, for", answer.usage.cost, "USD")

# A model by its name: it never changes, but any of its providers may answer.
stream = client.chat.completions.create(
    model="gpt-5-mini",
    messages=[{"role": "user", "content": "Why is the sky blue?"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    if chunk.usage:
        print(f"\n{chunk.usage.total_tokens} tokens, {chunk.usage.cost} USD")

tone = os.path.join(os.path.dirname(__file__), "..", "audio", "tone.wav")
with open(tone, "rb") as file:
    transcription = client.audio.transcriptions.create(model="svc-auto", file=file)
print(transcription.text)

# The package asks for base64 by itself, and makes numbers of it.
texts = ["How much is the toll?", "Where is the bridge?"]
embeddings = client.embeddings.create(model="text-embedding-3-small", input=texts)
print(len(embeddings.data), "vectors of", len(embeddings.data[0].embedding), "numbers,", embeddings.usage.cost, "USD")
