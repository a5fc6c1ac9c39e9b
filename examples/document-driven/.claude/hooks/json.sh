# Sourced by the hooks beside it: reading and writing JSON with nothing but awk.

# field NAME: the text of the string field NAME in the JSON on stdin, escapes undone.
# Inside another string the name's quotes are escaped, so it cannot be taken for the field.
field() {
  awk -v name="$1" '
    { text = text $0 "\n" }
    END {
      if (!match(text, "\"" name "\"[ \t\n]*:[ \t\n]*\"")) exit
      text = substr(text, RSTART + RLENGTH)
      while (length(text)) {
        c = substr(text, 1, 1)
        if (c == "\"") break
        if (c == "\\") {
          c = substr(text, 2, 1)
          if (c == "n") c = "\n"; else if (c == "t") c = "\t"; else if (c == "r") c = "\r"
          else if (c == "u") { c = "?"; text = substr(text, 5) }
          text = substr(text, 3)
        } else text = substr(text, 2)
        printf "%s", c
      }
    }'
}

# quoted: the text on stdin as a JSON string.
quoted() {
  tr -d '\000-\010\013\014\016-\037' | tr '\t\r' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g' |
    awk '{ line = line (NR > 1 ? "\\n" : "") $0 } END { printf "\"%s\"", line }'
}

# context EVENT: the text on stdin as context for the agent.
context() {
  printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":%s}}\n' "$1" "$(quoted)"
}
