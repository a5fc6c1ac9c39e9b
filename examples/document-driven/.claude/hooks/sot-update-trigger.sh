#!/bin/sh
# Stop: reminds of spec updates when source files were edited in this turn, and only then. What was
# edited is read from the transcript, by whole file names: "x.jsonl" is no ".js".
cd "${CLAUDE_PROJECT_DIR:-.}" || exit 0
. ./.claude/hooks/json.sh

event=$(cat)
case $event in *'"stop_hook_active":true'* | *'"stop_hook_active": true'*) exit 0 ;; esac
transcript=$(printf '%s' "$event" | field transcript_path)
[ -f "$transcript" ] || exit 0

changed=$(awk '
  # A line of a person begins a turn; the answer of a tool is a line of the same type.
  /"type" *: *"user"/ && !/"tool_result"/ { turn = "" }
  /"name" *: *"(Edit|MultiEdit|Write|NotebookEdit)"/ {
    line = $0
    while (match(line, /"(file_path|notebook_path)" *: *"([^"\\]|\\.)*"/)) {
      path = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
      sub(/^"[a-z_]*" *: *"/, "", path); sub(/"$/, "", path)
      turn = turn path "\n"
    }
  }
  END { printf "%s", turn }' "$transcript" |
  grep -E '\.(c|cc|cpp|cs|ex|go|h|hpp|java|js|jsx|kt|mjs|php|py|rb|rs|scala|sh|swift|ts|tsx|vue)$' | sort -u)
[ -n "$changed" ] || exit 0

count=$(printf '%s\n' "$changed" | wc -l)
message=$(printf 'Source changed in this turn (%d files). Do the specs still say what it does?\n%s\n' "$count" "$changed" | quoted)
printf '{"systemMessage":%s}\n' "$message"
