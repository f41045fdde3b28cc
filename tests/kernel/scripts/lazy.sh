# shellcheck shell=sh
# lazy.sh HEARTH: where the kernel preempts lazily, a thread ends its system call before it is preempted, for a thread that it
# woke or that another core woke. In a live kernel whose model can be changed. Prints `ok WHAT` or `FAILED WHAT`; the last line
# is `end`.
H=$1
. "$(dirname "$0")/checks.sh"
SCHED=/sys/kernel/debug/sched/preempt
SWITCHES=/sys/kernel/tracing/events/sched/sched_switch

# Counts the threads called NAME that were preempted in the kernel while COMMAND ran.
preempted() { # preempted MODEL NAME COMMAND...
	model=$1
	seen="hist:keys=prev_state if prev_state == 256 && prev_comm == \"$2\""
	shift 2
	echo "$model" >$SCHED
	"$H" run cfs:wakeup_granularity=0ms 2>/tmp/cfs.log &
	loader=$!
	check "cfs starts, $model" until_is cfs
	echo "$seen" >$SWITCHES/trigger
	"$@" >/dev/null
	count=$(sed -n 's/.*} hitcount: *//p' $SWITCHES/hist)
	echo "!$seen" >$SWITCHES/trigger
	echo "$model: ${count:=0} threads preempted in the kernel"
	kill -TERM $loader
	check "cfs ends, $model" wait $loader
}

compare() { # compare WHERE NAME COMMAND...
	where=$1
	shift
	preempted full "$@"
	full=$count
	preempted lazy "$@"
	check "$where, a full preemption interrupts system calls" [ "$full" -ge 500 ]
	check "$where, a lazy one does not" [ "$count" -le $((full / 5)) ]
}

# On one core each waker is the thread that its message preempts.
compare "the waker's core" hackbench taskset -c 2 hackbench -p -g 1 -l 100
compare "another core" worker python3 "$(dirname "$0")/messages.py"
echo end
