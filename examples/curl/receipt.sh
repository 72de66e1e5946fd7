#!/bin/sh
# Sends a request and prints its receipt. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

url="${TOLLGATE_URL:-http://127.0.0.1:8080}"
auth="authorization: Bearer $TOLLGATE_KEY"

# Every response names its request in the header `x-request-id`.
id="$(curl -sS --fail -o /dev/null -D - "$url/v1/chat/completions" -H "$auth" \
  -d '{"messages": [{"role": "user", "content": "Why is the sky blue?"}]}' |
  tr -d '\r' | sed -n 's/^x-request-id: //p')"

# The receipt is there as soon as the answer is.
curl -sS --fail "$url/v1/generations/$id" -H "$auth"
echo
