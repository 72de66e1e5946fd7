#!/bin/sh
# Two requests of one session go to the same model. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

ask() {
  curl -sS --fail-with-body "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/chat/completions" \
    -H "authorization: Bearer $TOLLGATE_KEY" -H "content-type: application/json" \
    -d "{\"session_id\": \"$1\", \"messages\": [{\"role\": \"user\", \"content\": \"$2\"}]}" |
    sed 's/.*"model":"\([^"]*\)".*/\1/'
}

session="example-$$-$(date +%s)"
first="$(ask "$session" "Hello")"
second="$(ask "$session" "Write a function that reverses a linked list.")"

echo "first request: $first"
echo "second request: $second"
test "$first" = "$second"
