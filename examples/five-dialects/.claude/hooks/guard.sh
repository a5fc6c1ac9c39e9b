#!/bin/sh
# Refuses commands that remove whole trees. The event is JSON on stdin; exit 2 blocks.
event=$(cat)
case $event in
  *'rm -rf'* | *'rm -fr'* | *'rm -r -f'*)
    echo "removing whole trees is not for agents; ask a person" >&2
    exit 2
    ;;
esac
