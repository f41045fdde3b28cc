# shellcheck shell=sh
# members.sh HEARTH: a policy for the threads of a cgroup, in a live kernel. Prints `ok WHAT` or `FAILED WHAT`; the last
# line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

mount | grep -q ' /sys/fs/cgroup .*cgroup2' || { mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; }
mkdir -p /sys/fs/cgroup/hearth/below
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
# ULE knows no weight.
echo 50 >/sys/fs/cgroup/hearth/cpu.weight
sleep 1000 &
sleeper=$!
echo $sleeper >/sys/fs/cgroup/hearth/below/cgroup.procs
"$H" run ule --cgroup hearth 2>/tmp/ule.log &
ule=$!
class() { n=0; until grep -q "^policy.* $2\$" "/proc/$1/sched"; do n=$((n + 1)); [ $n -lt 50 ] || return 1; sleep 0.2; done; }
check "a cgroup's policy starts" until_is ule
until_says() { n=0; until grep -q -- "$1" "$2"; do n=$((n + 1)); [ $n -lt 50 ] || return 1; sleep 0.2; done; }
check "it is warned about a limit" until_says "/hearth: cpu.weight = 50" /tmp/ule.log
check "threads in it are the policy's" class $sleeper 7
sleep 1000 &
late=$!
echo $late >/sys/fs/cgroup/hearth/cgroup.procs
check "threads that enter it are too" class $late 7
echo $late >/sys/fs/cgroup/cgroup.procs
check "threads that leave it are not" class $late 0
# Far sooner than the loader looks at the whole cgroup, which is each second: 20 times in and out.
at_once() {
	begun=$(date +%s)
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		echo $late >/sys/fs/cgroup/hearth/cgroup.procs
		until grep -q "^policy.* 7$" /proc/$late/sched; do :; done
		echo $late >/sys/fs/cgroup/cgroup.procs
		until grep -q "^policy.* 0$" /proc/$late/sched; do :; done
	done
	took=$(($(date +%s) - begun))
	echo "20 times in and out in $took s"
	[ $took -lt 15 ]
}
check "threads are seen at once" at_once
python3 -c 'import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()' &
two=$!
until grep -q "^Threads:.2$" "/proc/$two/status"; do sleep 0.1; done
echo $two >/sys/fs/cgroup/hearth/below/cgroup.procs
for thread in "/proc/$two/task"/*; do
	check "all threads of a process enter it" class "${thread##*/}" 7
done
if has_programs; then
	into=$(python3 "$(dirname "$0")/into.py" /sys/fs/cgroup/hearth/below)
	check "a process that begins in it is the policy's" class "$into" 7
	out=$(sh -c 'echo $$ >/sys/fs/cgroup/hearth/cgroup.procs; exec python3 "$0" /sys/fs/cgroup' "$(dirname "$0")/into.py")
	check "a member's child that begins elsewhere is not" class "$out" 0
	kill "$into" "$out"
fi
kill $two
kill -TERM $ule
check "the cgroup's policy ends" wait $ule
check "its threads are the kernel's again" class $sleeper 0
kill $sleeper $late
check "the cgroup's policy is gone" gone
echo end
