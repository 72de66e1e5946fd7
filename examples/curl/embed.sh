#!/bin/sh
# Texts as vectors of eight numbers. Reads TOLLGATE_URL and TOLLGATE_KEY.
set -eu

curl -sS --fail-with-body "${TOLLGATE_URL:-http://127.0.0.1:8080}/v1/embeddings" \
  -H "authorization: Bearer $TOLLGATE_KEY" -H "content-type: application/json" \
  -d '{"model": "text-embedding-3-small", "input": ["How much is the toll?", "Where is the bridge?"], "dimensions": 8}'
echo
