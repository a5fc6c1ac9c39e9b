#!/bin/sh
# Refuses commands that remove whole trees.
if grep -qE '(^|[^-[:alnum:]])rm +([^ ;|&"]+ +)*(-[a-zA-Z]*[rR]|--recursive)'; then
  echo "removing whole trees is not for agents; ask a person" >&2
  exit 2
fi
