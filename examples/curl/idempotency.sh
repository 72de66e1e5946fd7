#!/bin/sh
# The same request twice with one key: the second answer is the first one, and free. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

ask() {
  curl -sS --fail-with-body -i "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/chat/completions" \
    -H "authorization: Bearer $TOLLGATE_KEY" -H "idempotency-key: $1" \
    -d '{"messages": [{"role": "user", "content": "Why is the sky blue?"}]}'
}

key="example-$$-$(date +%s)"
ask "$key" >/dev/null
ask "$key" | tr -d '\r' | grep '^idempotent-replayed:'
