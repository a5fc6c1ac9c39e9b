# What the agent should know: the open work, and the newest commits.
cd "$CLAUDE_PROJECT_DIR" || exit 0
open=${OPEN_WORK:-OPEN.md}
if [ -f "$open" ]; then echo "Open work:"; head -20 "$open"; fi
git log --oneline -5 2>/dev/null | sed 's/^/recent: /'
exit 0
