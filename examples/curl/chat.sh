#!/bin/sh
# A plain answer from a model that the gateway chooses. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

curl -sS --fail-with-body "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/chat/completions" \
  -H "authorization: Bearer $TOLLGATE_KEY" -H "content-type: application/json" \
  -d '{"messages": [{"role": "user", "content": "Why is the sky blue?"}]}'
echo
