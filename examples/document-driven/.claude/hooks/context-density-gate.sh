#!/bin/sh
# UserPromptSubmit: when a prompt starts work on an epic or asks for a gate, says whether that
# epic's file is missing, sparse, dense or broad. A token is four bytes.
cd "${CLAUDE_PROJECT_DIR:-.}" || exit 0
. ./.claude/hooks/json.sh

# A phrase may go on over the end of a line.
prompt=$(field prompt | tr '\n' ' ')
printf '%s' "$prompt" | grep -qiE '(start|begin|implement|work on|continue|gate).*epic|epic.*gate|gate check' || exit 0
epic=$(printf '%s' "$prompt" | grep -oiE 'epic[-_ ]? ?#?[0-9]+' | head -n 1 | grep -oE '[0-9]+')
[ -n "$epic" ] || exit 0

file=
for candidate in epics/*; do
  number=$(printf '%s' "${candidate##*/}" | grep -oiE 'epic[-_]?[0-9]+' | grep -oE '[0-9]+' | sed 's/^0*//')
  [ "$number" = "$(printf '%s' "$epic" | sed 's/^0*//')" ] && file=$candidate && break
done
if [ -z "$file" ]; then
  echo "Epic $epic has no file under epics/: write it before work starts." | context UserPromptSubmit
  exit 0
fi

tokens=$(($(wc -c < "$file") / 4))
ids=$(grep -oE '\b[A-Z]{2,6}-[0-9]+' "$file" | grep -v '^EPIC-' | sort -u | wc -l)
ids=$((ids))
if [ "$tokens" -lt 500 ] && [ "$ids" -eq 0 ]; then
  say="is sparse: about $tokens tokens and no spec ids. Ask for the missing specs before work starts."
elif [ "$tokens" -gt 4000 ]; then
  say="is dense: about $tokens tokens. Read it in parts, and propose to split it."
elif [ "$ids" -gt 10 ]; then
  say="is broad: $ids different spec ids. Propose which of them to do first."
else
  exit 0
fi
echo "Epic $epic ($file) $say" | context UserPromptSubmit
