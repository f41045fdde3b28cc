# shellcheck shell=sh
# loads.sh HEARTH POLICY...: each policy under several loads in a live kernel with four cores. Prints `ok WHAT` or
# `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

forks() { timeout 120 sh -c 'n=0; while [ $n -lt 150 ]; do /bin/true & /bin/true; wait; n=$((n + 1)); done'; }
pipes() { timeout 240 "$H" play hackbench:groups=2,fds=5,loops=20 --burn time; }
thousand() { timeout 240 "$H" play hackbench:groups=25,fds=20,loops=1 --burn time; }
latencies() { timeout 240 "$H" play schbench:messages=2,workers=8,rounds=5 --burn time; }

# The kernel's numbers of the loader's programs.
programs() { cat "/proc/$loader"/fdinfo/* 2>/dev/null | grep '^prog_id' | sort -u; }

# A core goes off line and comes back, while threads are pinned to it, to it and a neighbour, and to all cores. Each
# time the kernel's scheduler takes over, and the policy starts again, without being loaded.
hotplug() {
	hogs=
	verified=$(programs)
	for cores in 3 3 2,3 0-3; do
		taskset -c "$cores" sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	(while :; do taskset -c 2,3 /bin/true; /bin/true; done) &
	hogs="$hogs $!"
	"$H" play hackbench:groups=2,fds=5,loops=100 --burn time >/tmp/play 2>&1 &
	play=$!
	times=0
	for cpu in 3 1; do
		for state in 0 1; do
			sleep 1
			echo $state >/sys/devices/system/cpu/cpu$cpu/online || return 1
			times=$((times + 1))
			started_again $times || return 1
		done
	done
	wait $play || { cat /tmp/play; return 1; }
	# shellcheck disable=SC2086 # several processes
	kill $hogs && is "$policy" && [ -n "$verified" ] && [ "$(programs)" = "$verified" ]
}

# Threads that are pinned to one core run only there.
pinned() {
	pins=
	for core in 0 1 1 2; do
		taskset -c $core sh -c 'n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); done; grep -q "^Cpus_allowed_list:	'$core'$" /proc/self/status' &
		pins="$pins $!"
	done
	for pin in $pins; do wait "$pin" || return 1; done
}

statistic() { "$H" status --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }

# Programs that end give their slots back. The four cores keep up to 16 each.
slots_return() {
	before=$(statistic slots)
	forks || return 1
	after=$(statistic slots)
	threads=$(statistic threads)
	tasks=$(find /proc/[0-9]*/task -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)
	echo "slots: $before, then $after; threads: $threads of $tasks"
	[ "$after" -le $((before + 64)) ] && [ "$threads" -ge $((tasks - 10)) ] && [ "$threads" -le $((tasks + 10)) ]
}

# Of two threads on one core, the one with more weight gets more time.
nice_counts() {
	taskset -c 2 nice -n 10 sh -c 'while :; do :; done' &
	low=$!
	taskset -c 2 sh -c 'while :; do :; done' &
	high=$!
	sleep 6
	ticks() { cut -d ' ' -f 14 "/proc/$1/stat"; }
	low_ticks=$(ticks $low)
	high_ticks=$(ticks $high)
	kill $low $high
	echo "nice 10: $low_ticks ticks, nice 0: $high_ticks"
	[ $((high_ticks)) -gt $((low_ticks * 3)) ] && [ $((low_ticks)) -gt 0 ]
}

for policy; do
	"$H" run "$policy" --frequency slow 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	check "$policy runs programs" forks
	check "$policy runs pipes" pipes
	check "$policy runs 1000 threads" thousand
	check "$policy runs message threads" latencies
	check "$policy takes slots back" slots_return
	check "$policy respects affinity" pinned
	case $policy in slocal | ule*) ;; *) check "$policy respects nice" nice_counts ;; esac
	check "$policy survives CPU hotplug" hotplug
	check "$policy still schedules" is "$policy"
	"$H" status >"/tmp/$policy.status" 2>&1
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
