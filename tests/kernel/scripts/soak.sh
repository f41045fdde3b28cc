# shellcheck shell=sh
# soak.sh HEARTH SEED SECONDS POLICY...: six spinning threads beside each load, under the kernel's own scheduler and under each
# policy, in a live kernel with four cores. Prints a line for each:
#
#   each SECONDS seed SEED
#   cell POLICY LOAD GAP LEAST MOST LOST
#   replaced POLICY LOADERS
#
# with the longest time in ms in which one of the spinning threads did not run, the least and the largest part of a core
# that one of them had, in percent, and the threads that did not end. `ended POLICY REASON` if the kernel ejected it. The last
# line is `end`.
H=$1
SEED=$2
SECONDS_EACH=$3
shift 3
. "$(dirname "$0")/checks.sh"

C=/sys/fs/cgroup

# A random number below $1. Each run of a seed draws the same ones.
random() {
	SEED=$(((SEED * 1103515245 + 12345) % 2147483648))
	drawn=$((SEED / 65536 % $1))
}

# ---- loads, which run until they are killed ----------------------------------------------------

nothing() { sleep 1000; }
forks() { while :; do for _ in 1 2 3 4 5 6 7 8; do /bin/true & done; wait; done; }
messages() { while :; do "$H" play hackbench:groups=4,fds=10,loops=20 --burn time >/dev/null; done; }
crowd() { while :; do "$H" play hackbench:groups=125,fds=20,loops=1 --burn time >/dev/null; done; } # starts 5000 threads
renice() { /tmp/threads renice 1000 "$@"; }
affinity() { /tmp/threads affinity 1000 "$@"; }
class() { chrt -f 20 /tmp/threads class 1000 "$@"; }
cgroups() {
	while :; do
		for pid; do
			random 4
			case $drawn in 0) to=$C ;; 1) to=$C/a ;; 2) to=$C/b ;; 3) to=$C/limited ;; esac
			echo "$pid" >"$to/cgroup.procs"
		done
		sleep 0.02
	done
}
cpusets() {
	for pid; do echo "$pid" >$C/b/cgroup.procs; done
	while :; do
		random 4
		echo "$drawn-3" >$C/b/cpuset.cpus
		sleep 0.05
	done
}
fifo() {
	while :; do
		random 3
		chrt -f 50 taskset -c "$drawn" /tmp/threads spin 1 >/dev/null
		sleep 0.2
	done
}
deadline() {
	while :; do
		# A deadline thread cannot fork.
		chrt -d -T 30000000 -D 100000000 -P 100000000 0 sh -c 'while :; do :; done' &
		sleep 1
		kill -9 $!
		sleep 0.2
	done
}
memory() { while :; do sh -c "echo \$\$ >$C/small/cgroup.procs; exec tail /dev/zero"; done; }
hotplug() {
	while :; do
		random 3
		cpu=/sys/devices/system/cpu/cpu$((drawn + 1))/online
		echo 0 >"$cpu"
		sleep 1
		echo 1 >"$cpu"
		sleep 2
	done
}

# The kernel freezes all threads and schedules them itself meanwhile; then the shared file system refuses to sleep.
suspend() {
	while :; do
		echo freeze >/sys/power/state
		sleep 0.3
	done 2>/dev/null
}
takes_over() { # waits until the loader has replaced the one before
	n=0
	until grep -q "is running" /tmp/replacing; do
		n=$((n + 1))
		[ $n -lt 600 ] && kill -0 "$(cat /tmp/loader)" 2>/dev/null || { echo "ended $policy: no loader takes over: $(tr '\n' ' ' </tmp/replacing)"; return; }
		sleep 0.2
	done
	cat /tmp/loader >>/tmp/replaced
}
# Each loader replaces the one before, in a session of its own, so that the last one outlives the load. The loop ends by
# itself: a loader that is killed before it has its session would leave the one before in place.
replaces() {
	forks &
	until [ "$policy" = kernel ] || [ -e /tmp/enough ]; do
		setsid "$H" run "$policy" --replace --frequency slow 2>/tmp/replacing &
		echo $! >/tmp/loader
		takes_over
	done
	[ "$policy" != kernel ] || wait
}
# Meanwhile cell kills the loader.
kills() { forks; }

LOADS=${LOADS:-nothing forks messages crowd renice affinity class cgroups cpusets fifo deadline memory suspend hotplug replaces kills}

if [ "$1" = load ]; then
	policy=$2
	load=$3
	shift 3
	"$load" "$@"
	exit
fi

cc -O2 -o /tmp/threads "$(dirname "$0")/threads.c" || exit
echo "+cpu +cpuset +memory" >$C/cgroup.subtree_control
mkdir -p $C/a $C/b $C/limited $C/small
echo 300 >$C/a/cpu.weight
echo "50000 100000" >$C/limited/cpu.max
echo 64M >$C/small/memory.max

start() {
	"$H" run "$policy" --frequency slow 2>>"/tmp/$policy.log" &
	echo $! >/tmp/loader
}

# ---- cells -------------------------------------------------------------------------------------

# Kills the loader at a random moment of the cell, another one for each policy, and waits for the cell's end.
kill_loader() {
	SEED=$((SEED + $(echo "$policy" | cksum | cut -d ' ' -f 1) % 65536))
	random $((SECONDS_EACH * 10))
	sleep $((drawn / 10)).$((drawn % 10))
	kill -9 "$(cat /tmp/loader)"
	gone || echo "ended $policy: it survives its loader"
	rest=$((SECONDS_EACH * 10 - drawn))
	sleep $((rest / 10)).$((rest % 10))
}

cell() { # cell LOAD: prints its line
	spins=
	for n in 1 2 3 4 5 6; do
		/tmp/threads spin "$SECONDS_EACH" >/tmp/spin$n &
		spins="$spins $!"
	done
	# A session of its own, so that all of it can be killed.
	# shellcheck disable=SC2086 # several processes
	setsid sh "$0" "$H" "$SEED" "$SECONDS_EACH" load "$policy" "$1" $spins >/tmp/load 2>&1 &
	disturber=$!
	lost=0
	if [ "$1" = kills ] && [ "$policy" != kernel ]; then kill_loader; else sleep "$SECONDS_EACH"; fi
	if [ "$1" = replaces ] && [ "$policy" != kernel ]; then
		touch /tmp/enough
		wait "$disturber"
		rm /tmp/enough
	fi
	kill -9 -$disturber
	grep "^ended" /tmp/load
	# What else a load says is an error.
	grep -v "^ended\|^$" /tmp/load | head -n 3 | sed "s/^/  | $1: /"
	for online in /sys/devices/system/cpu/cpu*/online; do echo 1 >"$online"; done
	for spin in $spins; do
		n=0
		while kill -0 "$spin" 2>/dev/null && [ $n -lt 100 ]; do
			sleep 0.2
			n=$((n + 1))
		done
		[ $n -lt 100 ] || lost=$((lost + 1))
	done
	cat /tmp/spin[1-6] | awk -v cell="$policy $1" -v lost="$lost" '
		NR == 1 { least = 100 }
		{ if ($4 > gap) gap = $4; if ($2 < least) least = $2; if ($2 > most) most = $2 }
		END { printf "cell %s %d %d %d %d\n", cell, gap, least, most, lost }'
}

# The policy schedules, if need be after it has started again.
schedules() {
	[ "$policy" != kernel ] || return 0
	n=0
	until is "$policy"; do
		n=$((n + 1))
		kill -0 "$(cat /tmp/loader)" 2>/dev/null && [ $n -lt 600 ] || return 1
		sleep 0.2
	done
}

echo "each $SECONDS_EACH seed $SEED"
for policy; do
	[ "$policy" = kernel ] || start
	for load in $LOADS; do
		if ! schedules; then
			echo "ended $policy before $load: $(tail -n 3 "/tmp/$policy.log" | tr '\n' ' ')"
			break
		fi
		cell "$load"
		[ "$load" != kills ] || [ "$policy" = kernel ] || start
	done
	[ ! -s /tmp/replaced ] || echo "replaced $policy $(sort -u /tmp/replaced | wc -l)"
	: >/tmp/replaced
	[ "$policy" = kernel ] || { schedules && "$H" stop 2>/dev/null && gone; } || echo "ended $policy: it does not stop"
done
echo end
