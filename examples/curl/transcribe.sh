#!/bin/sh
# Speech to text. Give the path of an audio file, or none to send one second of a tone.
# Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

file="${1:-$(dirname "$0")/../audio/tone.wav}"
curl -sS --fail-with-body "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/audio/transcriptions" \
  -H "authorization: Bearer $TOLLGATE_KEY" -F "file=@$file" -F language=en -F response_format=json
echo
