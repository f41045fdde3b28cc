# shellcheck shell=sh
# conform.sh HEARTH POLICY...: logs each policy under load in a live kernel with four cores, to POLICY.log in the
# current folder, for `hearth conform`. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

forks() { timeout 120 sh -c 'n=0; while [ $n -lt 40 ]; do /bin/true & /bin/true; wait; n=$((n + 1)); done'; }
pipes() { timeout 240 "$H" play hackbench:groups=1,fds=5,loops=10 --burn time; }
pinned() { for cores in 3 2,3 0-3; do taskset -c "$cores" sh -c 'n=0; while [ $n -lt 30000 ]; do n=$((n + 1)); done' & hogs="$hogs $!"; done; }
# Another core changes the nice value, affinity and class of running and of waiting threads.
storm() {
	spins=
	for _ in 1 2 3 4 5 6; do
		/tmp/threads spin 4 >/dev/null &
		spins="$spins $!"
	done
	for kind in renice affinity class; do
		# shellcheck disable=SC2086 # several processes
		chrt -f 20 /tmp/threads $kind 1 $spins || return
	done
	# shellcheck disable=SC2086
	wait $spins
}

cc -O2 -o /tmp/threads "$(dirname "$0")/threads.c" || exit
for policy; do
	"$H" run "$policy" --frequency slow --log "$policy.log" 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	hogs=
	pinned
	check "$policy runs programs" forks
	check "$policy runs pipes" pipes
	check "$policy runs threads that others change" storm
	case $policy in
	cfs-cwc*) parameter=quantum ;;
	ule*) parameter=slice ;;
	*) parameter=latency ;;
	esac
	check "$policy keeps its parameters" status 1 "$H" set $parameter=1s
	# shellcheck disable=SC2086 # several processes
	kill $hogs 2>/dev/null
	check "$policy still schedules" is "$policy"
	kill -TERM $loader
	check "$policy ends" wait $loader
	check "$policy lost nothing" status 1 grep -q "lost\|unusable" "/tmp/$policy.log"
done
echo end
