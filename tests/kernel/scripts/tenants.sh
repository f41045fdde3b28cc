# shellcheck shell=sh
# tenants.sh HEARTH POLICY...: whether cpu.weight, cpu.idle and cpu.max of cgroups hold, in a live kernel with four cores.
# Policy `kernel` is the kernel's own scheduler. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

C=/sys/fs/cgroup
echo +cpu >$C/cgroup.subtree_control

make() { # make CGROUP FILE VALUE: a cgroup with a limit
	mkdir -p "$C/$1"
	echo "$3" >"$C/$1/$2"
}
spin() { # spin CGROUP N: N spinning threads
	for n in $(seq "$2"); do
		sh -c "echo \$\$ >$C/$1/cgroup.procs; while :; do :; done" &
		spins="$spins $!"
	done
}
used() { awk '/^usage_usec/ { print $2 }' "$C/$1/cpu.stat"; }
# measure NAME CGROUP...: writes the percentage of a core that each cgroup uses in 10 s to /tmp/NAME.
measure() {
	name=$1
	shift
	sleep 3
	before=$(for group; do used "$group"; done)
	begun=$(date +%s%N)
	sleep 10
	after=$(for group; do used "$group"; done)
	ended=$(date +%s%N)
	# shellcheck disable=SC2086 # several numbers
	echo $before $after | awk -v us=$(((ended - begun) / 1000)) \
		'{ for (i = 1; i <= NF / 2; i++) printf "%d ", ($(i + NF / 2) - $i) * 100 / us + 0.5; print "" }' >"/tmp/$name"
	echo "$policy: $name: $(cat "/tmp/$name")"
}
ends() {
	# shellcheck disable=SC2086 # several processes
	kill -9 $spins
	# shellcheck disable=SC2086
	wait $spins 2>/dev/null
	spins=
}
# near NAME EXPECTED...: each cgroup used what it should, within a tenth and two points.
near() {
	name=$1
	shift
	echo "$@" | cat "/tmp/$name" - | awk 'NR == 1 { split($0, got) }
		NR == 2 { for (i = 1; i <= NF; i++) { d = got[i] - $i; if (d < 0) d = -d; if (d > $i / 10 + 2) bad = 1 } }
		{ print } END { exit bad || NR < 2 }'
}

# holds FILE OPERATION NAME EXPECTED...: so it is. If this kernel has no OPERATION that tells of FILE, a warning says so.
holds() {
	file=$1
	operation=$2
	shift 2
	if [ "$policy" = kernel ] || grep -q "$operation" /sys/kernel/btf/vmlinux; then
		near "$@"
	else
		grep "does not respect.*$file = " "/tmp/$policy.log"
	fi
}

make heavy cpu.weight 300
make light cpu.weight 100
make idle cpu.idle 1
make house cpu.weight 100
echo +cpu >$C/house/cgroup.subtree_control
make house/one cpu.weight 100
make house/many cpu.weight 100
make fifth cpu.max "20000 100000"
make wide cpu.max "150000 100000"
make poor cpu.max "1000 1000000"
make estate cpu.max "100000 100000"
echo +cpu >$C/estate/cgroup.subtree_control
make estate/a cpu.weight 100
make estate/b cpu.max "30000 100000"

weights() {
	spin heavy 4
	spin light 4
	spin idle 4
	measure weights heavy light idle
	ends
	holds cpu.idle cgroup_set_idle weights 300 100 1
}
nested() {
	spin house/one 2
	spin house/many 6
	spin light 4
	measure nested house/one house/many light
	ends
	near nested 100 100 200
}
limits() {
	spin fifth 2
	spin wide 4
	spin estate/a 2
	spin estate/b 2
	measure limits fifth wide estate estate/b
	# Threads that wait for their cgroup when its limit changes, and when they leave it.
	echo max >$C/fifth/cpu.max
	echo "${spins# }" | cut -d ' ' -f 1 >$C/wide/cgroup.procs
	measure freed fifth
	echo "20000 100000" >$C/fifth/cpu.max
	ends
	holds cpu.max cgroup_set_bandwidth limits 20 150 100 30
}
# The cores use many times the quota before their ticks. No thread waits for so long that the watchdog ends the policy.
debts() {
	"$H" run "$policy" --watchdog 10s 2>"/tmp/$policy.log" &
	loader=$!
	until_is "$policy" || return 1
	spin poor 4
	sleep 25
	ends
	is "$policy" && kill -TERM $loader && wait $loader
}
# A core goes and comes.
plugs() {
	for state in 0 1; do
		echo $state >/sys/devices/system/cpu/cpu3/online
		started_again $((state + 1)) || return 1
	done
}

for policy; do
	if [ "$policy" != kernel ]; then
		"$H" run "$policy" 2>"/tmp/$policy.log" &
		loader=$!
		check "$policy starts" until_is "$policy"
	fi
	# The ULEs know no weight.
	case $policy in ule*) ;; *)
		check "$policy: cpu.weight and cpu.idle divide the machine" tries 3 weights
		check "$policy: cpu.weight holds at each level" tries 3 nested
		;;
	esac
	check "$policy: cpu.max holds" tries 3 limits
	check "$policy: a thread without its limit runs on" [ "$(cat /tmp/freed)" -ge 25 ]
	[ "$policy" != kernel ] || continue
	check "$policy starts again after hot-plugs" plugs
	check "$policy: cpu.max holds then, too" tries 3 limits
	check "$policy still schedules" is "$policy"
	kill -TERM "$loader"
	check "$policy ends" wait "$loader"
	check "$policy: debts of a quota have a bound" debts
done
echo end
