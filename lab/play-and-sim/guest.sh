#!/bin/sh
# guest.sh HEARTH OUT FREQUENCY RUNS SCHEDULER: in the guest of lab/play-and-sim/run, plays each workload of
# OUT/workloads RUNS times under the kernel's scheduler ("kernel") or a policy, and records the kernel's events.
# The difference of a policy's counters before and after a play gives the reasons of its placements.
set -eu
hearth=$1 out=$2 frequency=$3 runs=$4 scheduler=$5
export HEARTH_LIB="$PWD/${hearth%/*}"

as=
if [ "$scheduler" != kernel ]; then
	# The policy schedules only the player's threads (class 7, SCHED_EXT), not the recorder or itself.
	mkdir -p /sys/fs/cgroup/none
	"$hearth" run "$scheduler" --cgroup /sys/fs/cgroup/none --frequency "$frequency" &
	until "$hearth" status >/dev/null 2>&1; do
		kill -0 $!
		sleep 1
	done
	# shellcheck disable=SC2089,SC2090 # split into three words on purpose; the quotes are Perl's
	as='perl -e $p=pack("i",0);syscall(144,0,7,$p)==0||die$!;exec@ARGV'
fi

while read -r name workload; do
	run=1
	while [ "$run" -le "$runs" ]; do
		to=$out/$name.$scheduler.$run
		[ -z "$as" ] || "$hearth" status --json >"$to.before.json"
		# shellcheck disable=SC2086,SC2090
		"$hearth" record -o "$to.trace" -- $as "$hearth" play "$workload" --burn time --rate 1e9 --json >"$to.play.json"
		[ -z "$as" ] || "$hearth" status --json >"$to.after.json"
		run=$((run + 1))
	done
done <"$out/workloads"
