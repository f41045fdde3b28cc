# shellcheck shell=sh
# execs.sh HEARTH: tests where exec has frequencies from, and what it records, in a live kernel. Prints `ok WHAT` or `FAILED
# WHAT`; the last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

check "an explicit source is not warned about" status 1 sh -c "$H exec smove --frequency unknown -- true 2>&1 | grep warning"
defers() { # defers SOURCE: S_move lets threads wait on their waker's core
	"$H" exec smove --frequency "$1" --record smove.trace -- sh -c 'for i in 1 2 3 4 5; do /bin/true & done; wait' &&
		"$H" report smove.trace >/tmp/smove.report || return 2
	grep -q "^  local " /tmp/smove.report
}
check "S_move defers where all cores count as slow" defers slow
check "S_move does not defer where frequencies are unknown" status 1 defers unknown
check "exec records" "$H" exec eevdf --record exec.trace -- sh -c 'for i in 1 2 3 4 5; do /bin/true & done; wait'
check "the recording can be read" says "placements by reason" "$H" report exec.trace
check "exec replaces a recording" "$H" exec eevdf --record exec.trace -- true
check "the new recording can be read" says "underload" "$H" report exec.trace
echo end
