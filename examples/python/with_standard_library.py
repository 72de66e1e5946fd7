"""A plain answer, a stream and an error with nothing but Python. Reads TOLLGATE_URL and TOLLGATE_KEY."""

import json
import os
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL = os.environ.get("TOLLGATE_URL", "http://127.0.0.1:8080")
KEY = os.environ["TOLLGATE_KEY"]


def post(body):
    """Sends a chat request and answers with the open response."""
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    return urlopen(Request(f"{URL}/v1/chat/completions", json.dumps(body).encode(), headers))


messages = [{"role": "user", "content": "Why is the sky blue?"}]

# Without a model the gateway chooses one.
with post({"messages": messages}) as response:
    answer = json.load(response)
print(answer["choices"][0]["message"]["content"])
print(answer["model"], "answered, for", answer["usage"]["cost"], "USD")

# A stream is a series of lines `data: {...}`. It ends with `data: [DONE]`; lines that begin with a colon are comments.
with post({"model": "gpt-5-mini", "messages": messages, "stream": True}) as response:
    for line in response:
        text = line.decode().strip()
        if not text.startswith("data: ") or text == "data: [DONE]":
            continue
        chunk = json.loads(text.removeprefix("data: "))
        if "error" in chunk:
            raise RuntimeError(chunk["error"]["message"])
        for choice in chunk["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
print()

# An error has a status and a body of one shape.
try:
    post({"model": "no-such-model", "messages": messages})
except HTTPError as error:
    print(error.code, json.load(error)["error"]["code"])
