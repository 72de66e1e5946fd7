#!/bin/sh
# A streamed answer as it arrives, from a model by its name. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

curl -sS --fail-with-body --no-buffer "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/chat/completions" \
  -H "authorization: Bearer $TOLLGATE_KEY" -H "content-type: application/json" \
  -d '{"model": "gpt-5-mini", "stream": true, "messages": [{"role": "user", "content": "Why is the sky blue?"}]}'
