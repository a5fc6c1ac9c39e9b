# Stands in for `gambrel run`: writes the result of the child.
while [ $# -gt 0 ]; do
  if [ "$1" = --session-dir ]; then echo '"looks good"' > "$2/output.json"; fi
  shift
done
