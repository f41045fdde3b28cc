# shellcheck shell=sh
# guest.sh HEARTH ROUNDS NAME=COMMAND...: in the guest, runs each load under each scheduler in turn, ROUNDS times. An
# empty COMMAND is the kernel's own scheduler. Writes to the working directory, for each round, scheduler and load:
# ROUND.NAME.LOAD.time (seconds), .trace, and for configure .programs (the kernel's statistics of the scheduler's BPF
# programs). LOADS names the loads.
H=$1
rounds=$2
shift 2

# timed FILE COMMAND...: writes the command's run time to FILE.time.
timed() {
	file=$1
	shift
	begun=$(date +%s.%N)
	"$@" >/tmp/out 2>&1 || { echo "FAILED $file: $(tail -n 3 /tmp/out)"; return; }
	ended=$(date +%s.%N)
	awk -v a="$begun" -v b="$ended" 'BEGIN { printf "%.6f\n", b - a }' >"$file.time"
}
recorded() {
	file=$1
	shift
	timed "$file" "$H" record -o "$PWD/$file.trace" -- "$@"
}

load() { # load NAME PREFIX
	case $1 in
	configure)
		# Measured only here: most CPUs sleep, so that busy ones do not disturb the times.
		echo 1 >/proc/sys/kernel/bpf_stats_enabled
		recorded "$2.configure" sh load.sh configure
		echo 0 >/proc/sys/kernel/bpf_stats_enabled
		PATH=$PATH:/usr/sbin bpftool -j prog show >"$2.configure.programs"
		;;
	build) recorded "$2.build" sh load.sh build ;;
	schbench)
		recorded "$2.schbench" "$H" play schbench:messages=2,workers=8,rounds=15,cpu=1000,sleep=5000 --burn time
		;;
	hackbench)
		timed "$2.hackbench" hackbench -p -g 10 -l 20
		recorded "$2.hackbench-recorded" hackbench -p -g 10 -l 20
		;;
	esac
}
loads() { for load in ${LOADS:-configure build schbench hackbench}; do load "$load" "$1"; done; }

begin() { # begin COMMAND: waits until a scheduler runs
	$1 >/tmp/scheduler.log 2>&1 &
	scheduler=$!
	until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; do
		kill -0 $scheduler 2>/dev/null || { cat /tmp/scheduler.log; return 1; }
		sleep 0.1
	done
	sleep 0.3
}
end() {
	[ "$(cat /sys/kernel/sched_ext/state)" = enabled ] || { echo "FAILED $1 was ejected"; dmesg | tail -n 5; }
	kill -TERM $scheduler
	wait $scheduler
	until [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; do sleep 0.1; done
}

# Warm the file cache for the first scheduler.
sh load.sh configure >/dev/null 2>&1
sh load.sh build >/dev/null 2>&1

round=1
while [ $round -le "$rounds" ]; do
	for wish; do
		name=${wish%%=*} command=${wish#*=}
		echo "round $round: $name, after $(cut -d ' ' -f 1 /proc/uptime) s"
		if [ -z "$command" ]; then loads "$round.$name"; continue; fi
		begin "$command" || { echo "FAILED $name did not start"; continue; }
		loads "$round.$name"
		end "$name"
	done
	round=$((round + 1))
done
