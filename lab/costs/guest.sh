#!/bin/sh
# guest.sh LIB OUT SCHEDULER: in the guest of lab/costs/run, records loads with the kernel's own tracer, under the
# kernel's scheduler ("kernel") or a policy: OUT/LOAD.SCHEDULER.events.
set -eu
lib=$1 out=$2 scheduler=$3
hearth=$lib/hearth
export HEARTH_LIB="$PWD/$lib"
tracing=/sys/kernel/tracing

as=
if [ "$scheduler" != kernel ]; then
	# The policy schedules only the load's threads (class 7, SCHED_EXT).
	mkdir -p /sys/fs/cgroup/none
	"$hearth" run "$scheduler" --cgroup /sys/fs/cgroup/none --frequency slow &
	until "$hearth" status >/dev/null 2>&1; do
		kill -0 $!
		sleep 1
	done
	# shellcheck disable=SC2089,SC2090 # split into three words on purpose; the quotes are Perl's
	as='perl -e $p=pack("i",0);syscall(144,0,7,$p)==0||die$!;exec@ARGV'
fi

# Times in ticks of the time stamp counter, which the text of the trace has in full.
sed 's/.*tsc_early_khz=\([0-9]*\).*/\1/' /proc/cmdline >"$out/khz"
echo 0 >"$tracing/tracing_on"
echo x86-tsc >"$tracing/trace_clock"
echo 8192 >"$tracing/buffer_size_kb"
for event in sched/sched_process_fork sched/sched_waking sched/sched_wakeup sched/sched_wakeup_new sched/sched_switch raw_syscalls; do
	echo 1 >"$tracing/events/$event/enable"
done

# In the guest's memory: each exec of a file of the host would wait for the host.
cp "$lib/load" /tmp/load
for load in 'fork 60' 'wake 100' 'busy 30'; do
	# Once without tracing: what the load reads is then in memory.
	for on in 0 1; do
		echo >"$tracing/trace"
		echo $on >"$tracing/tracing_on"
		# shellcheck disable=SC2086,SC2090
		$as /tmp/load $load
		echo 0 >"$tracing/tracing_on"
	done
	cat "$tracing/trace" >"$out/${load% *}.$scheduler.events"
done
