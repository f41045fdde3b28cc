# shellcheck shell=sh
# Functions for the cases and for the scripts of this folder. $H is the hearth under test.
check() { # check WHAT COMMAND...: the command succeeds
	what=$1
	check_begun=$(date +%s)
	shift
	if "$@" >/tmp/output 2>&1; then echo "ok $what ($(($(date +%s) - check_begun)) s)"; else
		echo "FAILED $what (status $?, $(($(date +%s) - check_begun)) s)"
		tail -n 20 /tmp/output /tmp/*.log 2>/dev/null | sed 's/^/  | /'
	fi
}
status() { # status N COMMAND...: the command ends with this status
	wanted=$1
	got=0
	shift
	"$@" || got=$?
	[ $got = "$wanted" ] || { echo "status $got instead of $wanted"; return 1; }
}
says() { # says TEXT COMMAND...: the command's output has the text
	text=$1
	shift
	"$@" 2>&1 | tee /tmp/out | grep -q -- "$text" || { cat /tmp/out; return 1; }
}
is() { [ "$(cat /sys/kernel/sched_ext/root/ops 2>/dev/null)" = "$(echo "$1" | tr -- -+ __)" ]; } # the kernel allows no - or +
# until_is POLICY [N]: the policy schedules. Fails after N times 0.2 s, or if process $loader has ended; without
# one, the last process in the background.
until_is() {
	n=0
	until is "$1"; do
		n=$((n + 1))
		[ $n -lt "${2:-600}" ] && grep -qs "^State:.[^Z]" "/proc/${loader:-${!:-self}}/status" || return 1
		sleep 0.2
	done
}
# soon COMMAND...: the command succeeds within ten seconds.
soon() { n=0; until "$@"; do n=$((n + 1)); [ $n -lt 50 ] || return 1; sleep 0.2; done; }
# started_again N: the policy has started again N times, after hot-plugs.
started_again() { n=0; until says "\"restarts\": $1," "$H" status --json; do n=$((n + 1)); [ $n -lt 300 ] || return 1; sleep 0.2; done; }
# runs_programs N: N times, two programs run.
runs_programs() { n=0; while [ $n -lt "$1" ]; do /bin/true & /bin/true; wait $!; n=$((n + 1)); done; }
gone() { n=0; until [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; do n=$((n + 1)); [ $n -lt 100 ] || return 1; sleep 0.2; done; }
# tries N COMMAND...: the command succeeds in one of N attempts. For shares of the machine, because a busy host takes CPUs
# from a guest for so long that its balancing stands still meanwhile.
tries() {
	left=$1
	shift
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
	done
}
# A guest of the host's architecture has the host's programs; another has a shell and few more.
has_programs() { [ "$(uname -m)" != aarch64 ]; }
# Programs run.
alive() { timeout 60 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true & done; wait'; }
