#!/bin/sh
# SessionStart: says which few files to read first, and the active epic once the project is far
# enough along (version 0.7 in PRD.md).
cd "${CLAUDE_PROJECT_DIR:-.}" || exit 0
. ./.claude/hooks/json.sh
cat > /dev/null

# True from version 0.7 on; 0.10 comes after 0.9.
mature() {
  version=$(grep -iE '^[^0-9]*version[^0-9]*[0-9]+\.[0-9]+' PRD.md 2>/dev/null | head -n 1 |
    sed -E 's/^[^0-9]*([0-9]+)\.([0-9]+).*/\1 \2/')
  set -- $version
  [ $# -eq 2 ] && { [ "$1" -gt 0 ] || [ "$2" -ge 7 ]; }
}

{
  echo "Read these first, in this order:"
  n=0
  for file in README.md CLAUDE.md PRD.md; do
    n=$((n + 1))
    if [ -f "$file" ]; then echo "$n. $file"; else echo "$n. $file (missing: say so)"; fi
  done
  if mature; then
    epic=$(grep -liE '^[^a-z]*status[^a-z]*active' epics/*.md 2>/dev/null | head -n 1)
    echo "4. ${epic:-an epic under epics/ (none is marked \"status: active\")}"
  fi
} | context SessionStart
