# shellcheck shell=sh
# shares.sh HEARTH POLICY...: whether weight counts across cores, and threads that do not divide evenly take turns,
# compared with the kernel's own scheduler, in a live kernel with four cores. Prints `ok WHAT` or `FAILED WHAT`; the last
# line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

# The shares of a core that spinning threads with these nice values have in 20 s, in percent.
shares() {
	spins=
	for nice; do
		nice -n "$nice" sh -c 'while :; do :; done' &
		spins="$spins $!"
	done
	sleep 3
	ticks() { for spin in $spins; do cut -d ' ' -f 14 "/proc/$spin/stat"; done; }
	before=$(ticks)
	begun=$(date +%s%N)
	sleep 20
	after=$(ticks)
	ended=$(date +%s%N)
	# shellcheck disable=SC2086 # several processes
	kill $spins
	# shellcheck disable=SC2086
	wait $spins 2>/dev/null
	# A tick of /proc is 10 ms.
	# shellcheck disable=SC2086
	echo $before $after | awk -v ms=$(((ended - begun) / 1000000)) \
		'{ for (i = 1; i <= NF / 2; i++) print int(($(i + NF / 2) - $i) * 1000 / ms + 0.5) }' | sort -n
}

# A thread that has nice value 10 in the first half of each tick and 0 in the second, beside one of nice 0: what it runs
# counts at the weight that it has then, so its share is 16%. It is half if all counts at the weight in the tick.
flips_cost_what_they_weigh() {
	taskset -c 1 /tmp/threads spin 5 >/dev/null &
	flips=$(taskset -c 1 /tmp/threads flip 5 | cut -d ' ' -f 2)
	wait $!
	echo "$flips%"
	[ "$flips" -le 30 ]
}

# measure LOAD SCHEDULER
measure() {
	case $1 in
	nice) shares 0 0 0 0 19 19 19 19 ;;
	five) shares 0 0 0 0 0 ;;
	esac >"/tmp/$1.$2"
	# shellcheck disable=SC2046 # one line
	echo "$2: $1:" $(cat "/tmp/$1.$2")
}

# Each share of a load is within eight points of the kernel's.
as_in_kernel() {
	measure "$1" "$policy"
	paste "/tmp/$1.kernel" "/tmp/$1.$policy" | awk '{ d = $1 - $2; if (d > 8 || d < -8) bad = 1; print } END { exit bad || NR < 5 }'
}

cc -O2 -o /tmp/threads "$(dirname "$0")/threads.c" || exit
measure nice kernel
measure five kernel
for policy; do
	"$H" run "$policy" 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	check "$policy: nice counts across cores" tries 3 as_in_kernel nice
	check "$policy: five threads on four cores have equal shares" tries 3 as_in_kernel five
	# EEVDF scales what a thread owes with its weight: 44% here, 45% under the kernel's own of 6.18.
	[ "$policy" = eevdf ] ||
		check "$policy: run time counts at the weight of its time" tries 3 flips_cost_what_they_weigh
	check "$policy still schedules" is "$policy"
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
