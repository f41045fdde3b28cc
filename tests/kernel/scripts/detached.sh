# shellcheck shell=sh
# detached.sh HEARTH KERNEL: tests a machine that keeps running, from the host. Prints `ok WHAT` or `FAILED WHAT`; the last
# line is `end`.
H=$1
work=$(mktemp -d) && cd "$work" || exit
# On every way out the machine ends.
trap '"$H" vm stop >stop.log 2>&1; cd /; rm -r "$work"' EXIT
check() { # check WHAT COMMAND...: the command succeeds
	what=$1
	shift
	if "$@" >output 2>&1; then echo "ok $what"; else
		echo "FAILED $what (status $?)"
		tail -n 20 output ./*.log | sed 's/^/  | /'
	fi
}
says() { # says TEXT COMMAND...: the command's output has the text
	text=$1
	shift
	"$@" >said 2>&1
	grep -q -- "$text" said || { cat said; return 1; }
}
ends_with() { # ends_with STATUS COMMAND...
	wanted=$1
	shift
	"$@"
	[ $? = "$wanted" ]
}
until_true() { n=0; until "$@" >said 2>&1; do n=$((n + 1)); [ $n -lt 120 ] || return 1; sleep 0.5; done; }
vm() { timeout --kill-after=5 60 "$H" vm "$@"; }
in_vm() { vm shell --quiet "$@"; }
streams() { [ "$(echo in | in_vm sh -c 'cat; echo err >&2' 2>err)" = in ] && [ "$(cat err)" = err ]; }
interrupted() { # Ctrl-C reaches the command, which answers it
	"$H" vm shell sh -c 'trap "exit 9" INT; touch begun; while :; do sleep 0.1; done' &
	shell=$!
	until_true test -e begun && kill -INT $shell && ends_with 9 wait $shell
}
is_gone() { ! pgrep -f "qemu-system.*$XDG_RUNTIME_DIR"; }

# advised N COMMAND...: the Nth command in backticks that the message of a failing command recommends.
advised() {
	number=$1
	shift
	"$@" 2>&1 | grep -o '`[^`]*`' | tr -d '`' | sed -n "${number}p"
}
# A command of hearth with the hearth under test.
on_host() { echo "$1" | sed "s#^hearth#'$H'#"; }

check "no machine runs at first" ends_with 125 vm shell true
starts=$(advised 1 "$H" status)
runs=$(advised 2 "$H" status)
check "status says how to start a machine" test "$starts" = "$H vm start"
$starts --kernel "$2" --cpus 2 2>start.log &
start=$!
sleep 0.5
check "a second start is refused" says "runs already" vm start
check "a shell waits for the boot" says "^Linux" in_vm uname
check "the machine starts" wait $start
check "it is listed" says '"name": "default"' vm --list --json
check "a shell without a policy says how to start one" says "from the host: hearth vm shell hearth run nest" in_vm hearth status
$runs 2>nest.log &
nest=$!
check "the policy that status recommends starts" until_true in_vm hearth status
shows=$(advised 1 "$H" status)
check "the command that status recommends then shows it" says "nest schedules the system" sh -c "$shows"
check "so does the one that nest recommends" says "nest schedules the system" sh -c "$(on_host "$(advised 1 cat nest.log)")"
check "run on the host names the machine" says ": $H vm shell hearth run nest\$" "$H" run nest
changes=$(advised 1 "$H" set s_max=1tick)
check "the command that set recommends changes it" says "s_max was 8ms, is 4ms" sh -c "$changes"
echo 'policy mine extends nest {}' >mine.ipa
check "a policy of one's own is compiled on the host" in_vm --env CLANG=none hearth build mine.ipa --verify
check "a command has its status" ends_with 7 in_vm sh -c 'exit 7'
check "its streams are separate" streams
check "it writes to the current folder" in_vm sh -c 'echo made >made'
check "which is the host's" grep -q made made
check "Ctrl-C reaches the command" interrupted
check "the command that nest recommends ends it" sh -c "$(on_host "$(advised 2 cat nest.log)")"
check "with its shell" wait $nest
check "which says so" grep -q "nest stopped on request" nest.log
"$H" vm shell hearth run nest 2>nest.log &
nest=$!
check "nest starts again" until_true in_vm hearth status
check "a terminal has its size" says "33 101" script -qec "stty rows 33 cols 101; '$H' vm shell -q stty size" /dev/null
check "the machine stops" vm stop
check "its commands end first" wait $nest
check "which say so" grep -q "nest stopped" nest.log
check "nothing is left" is_gone
check "it cannot be stopped twice" ends_with 125 vm stop
echo end
