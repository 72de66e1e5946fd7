#!/bin/sh
# What a refused request looks like. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

curl -sS -w '\nstatus %{http_code}\n' "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/chat/completions" \
  -H "authorization: Bearer $TOLLGATE_KEY" -H "content-type: application/json" \
  -d '{"messages": [{"role": "user", "content": "Hello"}], "temperature": 3}'
