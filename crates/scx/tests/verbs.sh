# shellcheck shell=sh
# verbs.sh HEARTH: tests run, exec, set, status, top and stop in a live kernel. Prints `ok WHAT` or `FAILED WHAT`; the last
# line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"
# A guest of the host's architecture has the host's programs; another has a shell and few more.
has_programs() { [ "$(uname -m)" != aarch64 ]; }
alive() { timeout 60 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true & done; wait'; }
load() { for _ in 1 2 3 4 5 6; do (while :; do /bin/true; sleep 0.1; done) & loads="$loads $!"; done; }

check "nothing runs at first" says "no policy of Hearth runs here" "$H" status
for policy in cfs slocal smove nest; do
	"$H" run "$policy" 2>"/tmp/$policy.log" &
	check "$policy starts" until_is "$policy"
	check "$policy lets threads run" alive
	check "$policy is shown" says "$policy schedules the system" "$H" status
	check "$policy has statistics" says '"placements"' "$H" status --json
	check "$policy stops" "$H" stop
	check "$policy is gone" gone
done

check "a policy that reads frequencies is warned that there are none" says "smove uses core frequencies" cat /tmp/smove.log
check "another policy is not warned" status 1 grep frequencies /tmp/nest.log
check "an explicit source is not warned about" status 1 sh -c "$H exec smove --frequency unknown -- true 2>&1 | grep warning"
defers() { # defers SOURCE: S_move lets threads wait on their waker's core
	"$H" exec smove --frequency "$1" --record smove.trace -- sh -c 'for i in 1 2 3 4 5; do /bin/true & done; wait' &&
		"$H" report smove.trace >/tmp/smove.report || return 2
	grep -q "^  local " /tmp/smove.report
}
check "S_move defers where all cores count as slow" defers slow
check "S_move does not defer where frequencies are unknown" status 1 defers unknown

check "exec returns the command's status" status 7 "$H" exec nest -- sh -c 'grep -q "^policy.* 7$" /proc/self/sched && exit 7'
check "exec of a missing program" status 127 "$H" exec nest -- /nonexistent/program
check "exec records" "$H" exec nest --record exec.trace -- sh -c 'for i in 1 2 3 4 5; do /bin/true & done; wait'
check "the recording can be read" says "placements by reason" "$H" report exec.trace
check "exec replaces a recording" "$H" exec nest --record exec.trace -- true
check "the new recording can be read" says "underload" "$H" report exec.trace

check "try compares the kernel's scheduler with a policy" says "4 runs each, in turn" "$H" try nest --runs 4 -- sh -c '/bin/true & wait'
check "try prints its runs as JSON" says '"why_no_energy"' "$H" try cfs --runs 4 --json -- true
check "try leaves no policy" gone
check "a run that fails ends try" status 1 "$H" try nest --runs 4 -- false
check "a failed try leaves no policy" gone

# Receives what a service manager would, in lines.
python3 -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/tmp/notify")
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)
' >/tmp/notified &
manager=$!
until [ -S /tmp/notify ]; do sleep 0.1; done
NOTIFY_SOCKET=/tmp/notify "$H" run cfs-cwc 2>/tmp/cfs-cwc.log &
service=$!
check "a service starts" until_is cfs-cwc
sleep 1
check "its manager hears that it is ready" says "READY=1" cat /tmp/notified
check "the monitor shows rates" says "switch/s" timeout 5 sh -c "$H status --monitor 1"
check "the monitor prints counters as JSON" says '"switches":' timeout 5 sh -c "$H status --monitor 1 --json"
kill -TERM $service
check "the service ends well" wait $service
check "its manager hears that it stops" says "STOPPING=1" cat /tmp/notified
kill $manager

check "a wrong value for the power profile" status 2 "$H" run nest --power-save s_max=9h
"$H" run nest --power-save s_max=0ms 2>/tmp/profile.log &
check "nest follows the power profile" until_is nest
check "a machine without one is warned about" says "no power profile" cat /tmp/profile.log
if has_programs; then
	# A machine with one: tests change the file as a daemon would.
	mount -t tmpfs none /sys/firmware && mkdir /sys/firmware/acpi
	shows() { n=0; until says "$1" "$H" status; do n=$((n + 1)); [ $n -lt 50 ] || return 1; sleep 0.2; done; }
	echo low-power >/sys/firmware/acpi/platform_profile
	check "s_max is 0 while the machine saves power" shows "changed:.*s_max=0"
	echo balanced >/sys/firmware/acpi/platform_profile
	check "and then what it was" shows "s_max=8ms"
	umount /sys/firmware
fi
"$H" stop
check "nest is gone" gone

load
"$H" run nest --frequency model:xeon-5218 --record run.trace --cost 2>/tmp/nest.log &
nest=$!
check "nest starts under load" until_is nest
check "parameters change" says "r_max was 5, is 2" "$H" set r_max=2
check "bounds hold" status 1 "$H" set s_max=99s
check "the kernel measures placements" says "placement: " "$H" status
check "a separate recorder sees the decisions" says "its decisions are recorded" "$H" record -a --duration 2s -o beside.trace
check "its decisions have reasons" says "placements by reason" "$H" report beside.trace
check "a second run is refused" says "nest runs (hearth, process $nest" "$H" run cfs
"$H" run smove --replace 2>/tmp/smove.log &
smove=$!
check "the old one ends well" wait $nest
check "the new one takes over under load" until_is smove
# shellcheck disable=SC2086 # several processes
check "the loads live" kill -0 $loads
check "the system's recording can be read" says "placements by reason" "$H" report run.trace
kill -9 $smove
check "the kernel takes over from a killed loader" gone
check "threads run then" alive
# shellcheck disable=SC2086
check "the loads live on" kill -0 $loads
check "a killed loader leaves no policy" says "no policy of Hearth runs here" "$H" status
# shellcheck disable=SC2086
kill $loads

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

cpu3=/sys/devices/system/cpu/cpu3/online
echo 0 >$cpu3
"$H" run nest:r_max=3 --record cores.trace 2>/tmp/nest.log &
nest=$!
check "nest starts without a core" until_is nest
check "it runs on three cores" says "on 3 cores" "$H" status
check "a parameter changes" "$H" set s_max=1tick
echo 1 >$cpu3
on_cores() { n=0; until says "on $1 cores" "$H" status; do n=$((n + 1)); [ $n -lt 100 ] || return 1; sleep 0.5; done; }
check "it starts again for the new core" on_cores 4
check "its recording is complete" says "placements by reason" "$H" report cores.trace
check "its parameters stay" says "changed: r_max=3 s_max=4ms" "$H" status
check "threads run on four" alive
# No load: only the kernel's own threads must run for the core to go off line.
echo 0 >$cpu3
check "it starts again when a core goes" on_cores 3
check "threads run on three" alive
echo 1 >$cpu3
check "threads run on four again" alive
kill -TERM $nest
check "it ends well" wait $nest
check "it reported the new start" says "starts again, on 3 cores" cat /tmp/nest.log
"$H" run nest 2>/tmp/nest.log &
nest=$!
check "nest runs again" until_is nest
echo 0 >$cpu3
"$H" run cfs --replace 2>/tmp/cfs.log &
cfs=$!
check "a policy that starts again is replaced" until_is cfs
check "its loader ends well" wait $nest
echo 1 >$cpu3
check "the new one starts again" on_cores 4
check "a policy that starts again is stopped" sh -c "echo 0 >$cpu3 && sleep 0.3 && $H stop"
check "the loader of that one ends well" wait $cfs
echo 1 >$cpu3
"$H" run nest:r_max=3 2>/tmp/nest.log &
nest=$!
verified() { n=0; until grep -qs ^prog_id "/proc/$nest"/fdinfo/*; do n=$((n + 1)); [ $n -lt 600 ] || return 1; sleep 0.1; done; }
check "nest is being verified" verified
echo 0 >$cpu3
check "it sees that a core went meanwhile" on_cores 3
check "that was a new start" says '"restarts": 1,' "$H" status --json
check "with its parameters" says "changed: r_max=3" "$H" status
kill -TERM $nest
check "its loader ends well, too" wait $nest
echo 1 >$cpu3
check "SysRq-S ends a policy, and the loader says so" says "SysRq-S" sh -c "$H run cfs & p=\$!; n=0; until grep -q cfs /sys/kernel/sched_ext/root/ops 2>/dev/null || [ \$n -gt 600 ]; do sleep 0.2; n=\$((n + 1)); done; echo S >/proc/sysrq-trigger; wait \$p; [ \$? = 1 ]"

# The guest compiles this policy.
if has_programs; then
	"$H" run "$(dirname "$0")/loses.ipa" --watchdog 5s 2>/tmp/loses.log &
	loses=$!
	check "a policy that loses threads starts" until_is loses 3000
	nice -n 10 sh -c 'sleep 0.1; exit 3' &
	lost=$!
	check "it is ejected" gone
	check "its loader ends with an error" status 1 wait $loses
	check "it reports the stall" says "failed to run for" cat /tmp/loses.log
	check "the lost thread runs again" status 3 wait $lost
	check "threads run then as well" alive
fi

if has_programs && command -v script >/dev/null; then
	"$H" run nest 2>/tmp/nest.log &
	nest=$!
	check "nest starts for top" until_is nest
	# It types q when top has drawn.
	check "top draws, and q ends it" says "reserve" sh -c "(n=0; until grep -qs reserve /tmp/top || [ \$n -gt 200 ]; do n=\$((n + 1)); sleep 0.2; done; printf q) |
		timeout 60 script -qfec 'stty rows 30 cols 100; $H top' /tmp/top"
	kill -TERM $nest
	check "it ends well again" wait $nest
fi
echo end
