#!/bin/sh
# A hook of Claude Code: .claude/settings.json runs it before every Bash command.
#
# The event is JSON on stdin; `gambrel schema claude PreToolUse --input` describes it.
# Exit 0: no objection. Exit 2: the call is blocked, and the agent reads what stderr says.
event=$(cat)

case $event in
  *'git push'*'--force'*)
    echo "force pushes are not for agents; ask a person" >&2
    exit 2
    ;;
esac

# More rules: add a pattern above. For other tools, change `matcher` in settings.json.
exit 0
