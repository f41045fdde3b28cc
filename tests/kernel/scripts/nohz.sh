# shellcheck shell=sh
# nohz.sh HEARTH POLICY...: two threads on a core without a periodic tick take turns, in a live kernel with four cores and
# nohz_full=1-3. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

cc -O2 -o /tmp/threads "$(dirname "$0")/threads.c" || exit

take_turns() {
	taskset -c 2 /tmp/threads spin 10 >/tmp/spin &
	spin=$!
	taskset -c 2 /tmp/threads spin 10 >/tmp/other
	wait $spin
	echo "$1: two threads on a core: $(cat /tmp/spin)"
}

check "core 2 has no periodic tick" grep -q 1-3 /sys/devices/system/cpu/nohz_full
take_turns kernel
for policy; do
	"$H" run "$policy" 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	take_turns "$policy"
	# With a tick per second there are 10.
	check "$policy lets threads take turns" [ "$(cut -d ' ' -f 6 /tmp/spin)" -ge 40 ]
	check "$policy still schedules" is "$policy"
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
