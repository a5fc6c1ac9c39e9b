# An agent of the Agent Client Protocol that asks for permission as often as its argument says.
respond() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
ask() {
  printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c%s","kind":"execute","title":"bash","rawInput":{"command":"ls"}},"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}\n' "$1" "$1"
  read -r answer
  case $answer in *'"once"'*) ;; *) exit 7 ;; esac
}
while read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]]
  id=${BASH_REMATCH[1]}
  case $line in
  *'"initialize"'*) respond "$id" '{"protocolVersion":1}' ;;
  *'"session/new"'*) respond "$id" '{"sessionId":"s1"}' ;;
  *'"session/prompt"'*)
    for ((n = 1; n <= $1; n++)); do ask "$n"; done
    echo '{"decision":"continue"}' >"$STATUS"
    respond "$id" '{"stopReason":"end_turn"}'
    ;;
  esac
done
