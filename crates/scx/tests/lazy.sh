# shellcheck shell=sh
# lazy.sh HEARTH: where the kernel preempts lazily, a thread that wakes another in a system call ends the call first. In a live
# kernel whose model can be changed. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"
SCHED=/sys/kernel/debug/sched/preempt
SWITCHES=/sys/kernel/tracing/events/sched/sched_switch
R='hist:keys=prev_state if prev_state == 256 && prev_comm == "hackbench"'

# The threads that were preempted in the kernel while they sent messages to each other on one core. There each waker is
# the thread that its message preempts.
preempted() { # preempted MODEL
	echo "$1" >$SCHED
	"$H" run cfs:wakeup_granularity=0ms 2>/tmp/cfs.log &
	loader=$!
	check "cfs starts, $1" until_is cfs
	echo "$R" >$SWITCHES/trigger
	taskset -c 2 hackbench -p -g 1 -l 100 >/dev/null
	count=$(sed -n 's/.*} hitcount: *//p' $SWITCHES/hist)
	echo "!$R" >$SWITCHES/trigger
	echo "$1: ${count:=0} threads preempted in the kernel"
	kill -TERM $loader
	check "cfs ends, $1" wait $loader
}

preempted full
full=$count
preempted lazy
check "a full preemption interrupts system calls" [ "$full" -ge 1000 ]
check "a lazy one does not" [ "$count" -le $((full / 5)) ]
echo end
