#!/bin/sh
# A task is complete only if its notes exist.
notes=${NOTES:-notes}/$PI_TEAMS_TASK_ID.md
if [ ! -s "$notes" ]; then
  echo "write $notes first" >&2
  exit 1
fi
