#!/usr/bin/env bash
# pi-teams: context in the environment, the exit code is the quality gate.
echo "gate for task $PI_TEAMS_TASK_ID: $PI_TEAMS_TASK_SUBJECT"
[ "${PI_TEAMS_TASK_SUBJECT#WIP}" = "$PI_TEAMS_TASK_SUBJECT" ] || { echo "a WIP task is not done" >&2; exit 1; }
