# Lists what the agent should repair. Put your linter here.
grep -rn 'FIXME' "${SRC:-src}" 2>/dev/null | sed 's/^/lint: /'
