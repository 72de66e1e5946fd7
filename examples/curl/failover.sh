#!/bin/sh
# Asks the simulated provider to fail once, and prints the receipt with both attempts.
# Needs a gateway without provider keys. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

url="${TOLLGATE_URL:-http://127.0.0.1:8080}"
auth="authorization: Bearer $TOLLGATE_KEY"

# A 503 at whichever endpoint sees this message first. The client gets a plain 200 from the next one.
id="$(curl -sS --fail -o /dev/null -D - "$url/v1/chat/completions" -H "$auth" \
  -d "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello $$ [fault:503 first]\"}]}" |
  tr -d '\r' | sed -n 's/^x-request-id: //p')"

curl -sS --fail --retry 5 --retry-delay 1 --retry-all-errors "$url/v1/generations/$id" -H "$auth" |
  sed 's/.*"attempts":\(\[[^]]*\]\).*/\1/'
