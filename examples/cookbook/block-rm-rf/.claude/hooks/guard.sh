#!/bin/sh
# Refuses commands that remove whole trees.
if grep -qE 'rm +(-[a-zA-Z]+ +)*-[a-zA-Z]*(rf|fr|r [^"]*-f)'; then
  echo "removing whole trees is not for agents; ask a person" >&2
  exit 2
fi
