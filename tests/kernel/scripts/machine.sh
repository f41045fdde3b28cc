# shellcheck shell=sh
# machine.sh HEARTH POLICY...: whether the policies see what others do to their threads and cores, compared with the
# kernel's own scheduler, in a live kernel with four cores. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

cc -O2 -o /tmp/threads "$(dirname "$0")/threads.c" || exit

share() { cut -d ' ' -f 2 "$1"; }
gap() { cut -d ' ' -f 4 "$1"; }

# A thread runs on core 1 and may run anywhere, when a real-time thread takes the core for 15 s.
beside_hog() {
	chrt -f 50 taskset -c 1 /tmp/threads hog 15 3000 >/tmp/hog &
	hog=$!
	taskset -c 1 /tmp/threads spin 17 2000 >/tmp/spin
	wait $hog
}

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
		[ "$(gap /tmp/spin$n)" -le "$worst" ] || worst=$(gap /tmp/spin$n)
	done
}

measure() {
	beside_hog
	echo "$1: beside a real-time thread: $(cat /tmp/spin)"
	for kind in renice affinity; do
		storm $kind
		echo "$1: $kind: longest gap $worst ms"
		echo "$worst" >"/tmp/$kind.$1"
	done
}

measure kernel
own=$(share /tmp/spin)
# The longest gap of the kernel is that of the machine below the guest.
within() { [ "$(cat "/tmp/$1.$policy")" -le $((1000 + $(cat "/tmp/$1.kernel"))) ]; }
for policy; do
	"$H" run "$policy" --frequency slow 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	measure "$policy"
	check "$policy moves the thread away from the real-time thread" [ $(($(share /tmp/spin) * 100)) -ge $((own * 80)) ]
	check "$policy runs reniced threads" within renice
	check "$policy runs threads whose affinity changes" within affinity
	check "$policy still schedules" is "$policy"
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
