# shellcheck shell=sh
# machine.sh HEARTH POLICY...: whether the policies see what others do to their threads and cores, compared with the
# kernel's own scheduler, in a live kernel with four cores. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

cc -O2 -o /tmp/threads "$(dirname "$0")/threads.c" || exit

gap() { cut -d ' ' -f 4 "$1"; }

# Six spinning threads on four cores, all of which are disturbed.
storm() {
	spins=
	for n in 1 2 3 4 5 6; do
		/tmp/threads spin 8 >/tmp/spin$n &
		spins="$spins $!"
	done
	# shellcheck disable=SC2086 # several processes
	/tmp/threads "$1" 8 $spins
	worst=0
	for n in 1 2 3 4 5 6; do
		wait "$(echo "$spins" | cut -d ' ' -f $((n + 1)))"
		[ "$(gap /tmp/spin$n)" -le $worst ] || worst=$(gap /tmp/spin$n)
	done
}

measure() {
	for kind in renice affinity; do
		storm $kind
		echo "$1: $kind: longest gap $worst ms"
		echo "$worst" >/tmp/$kind
	done
}

measure kernel
for policy; do
	"$H" run "$policy" 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	measure "$policy"
	check "$policy runs reniced threads" [ "$(cat /tmp/renice)" -le 1000 ]
	check "$policy runs threads whose affinity changes" [ "$(cat /tmp/affinity)" -le 1000 ]
	check "$policy still schedules" is "$policy"
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
