# shellcheck shell=sh
# guest.sh HEARTH CASE...: runs cases in a guest: the file CASE/run below the current folder, for at most CASE/limit seconds.
# Writes CASE/output and CASE/log, what the kernel logged meanwhile. Prints `begin CASE` and `end CASE STATUS` for main.rs.
H=$1
shift
work=$PWD
# A copy in memory starts ten times sooner than a large file of the host.
mkdir -p /tmp/bin && cp "$H" /tmp/bin/hearth
export PATH="/tmp/bin:$PATH"
before=" $(cd /proc && echo [0-9]*) "
uname -r >release

is_off() { [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; }
# Ends all processes that have begun since the first case, except this shell. Kernel threads have no program.
end_others() {
	for process in /proc/[0-9]*; do
		process=${process#/proc/}
		case "$before$$ " in *" $process "*) continue ;; esac
		[ -e "/proc/$process/exe" ] && kill -9 "$process"
	done 2>/dev/null
}
# No policy runs, all cores are on line, and there is no cgroup.
clean() {
	is_off || timeout 30 hearth stop 2>/dev/null
	end_others
	n=0
	until is_off; do
		n=$((n + 1))
		[ $n -lt 100 ] || {
			echo "FAILED the policy does not end"
			echo S >/proc/sysrq-trigger
			break
		}
		sleep 0.2
	done
	for core in /sys/devices/system/cpu/cpu[0-9]*/online; do
		[ ! -e "$core" ] || [ "$(cat "$core")" = 1 ] || echo 1 >"$core"
	done
	find /sys/fs/cgroup -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
	rm -f /tmp/*.log /tmp/output /tmp/out
}

for case; do
	cd "$work/$case" || exit
	echo "begin $case"
	timeout -k 5 "$(cat limit)" sh ./run >output 2>&1 </dev/null
	status=$?
	clean >>output
	dmesg -c >log
	echo "end $case $status"
done
