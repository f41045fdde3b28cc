# shellcheck shell=sh
# verbs.sh HEARTH: tests run, exec, set, status, top and stop in a live kernel. Prints `ok WHAT` or `FAILED WHAT`; the last
# line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

check "nothing runs at first" says "no policy of Hearth runs here" "$H" status
for policy in smove nest; do
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

check "exec returns the command's status" status 7 "$H" exec eevdf -- sh -c 'grep -q "^policy.* 7$" /proc/self/sched && exit 7'
check "exec of a missing program" status 127 "$H" exec eevdf -- /nonexistent/program

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
check "a machine without one is warned about" soon says "no power profile" cat /tmp/profile.log
if has_programs; then
	# A machine with one: tests change the file as a daemon would.
	mount -t tmpfs none /sys/firmware && mkdir /sys/firmware/acpi
	echo low-power >/sys/firmware/acpi/platform_profile
	check "s_max is 0 while the machine saves power" soon says "changed:.*s_max=0" "$H" status
	echo balanced >/sys/firmware/acpi/platform_profile
	check "and then what it was" soon says "s_max=8ms" "$H" status
	umount /sys/firmware
fi
"$H" stop
check "nest is gone" gone

check "SysRq-S ends a policy, and the loader says so" says "SysRq-S" sh -c "$H run cfs & p=\$!; n=0; until grep -q cfs /sys/kernel/sched_ext/root/ops 2>/dev/null || [ \$n -gt 600 ]; do sleep 0.2; n=\$((n + 1)); done; echo S >/proc/sysrq-trigger; wait \$p; [ \$? = 1 ]"

"$H" run nest 2>/tmp/nest.log &
check "nest starts again" until_is nest
check "its nests have cores" soon sh -c "/bin/true; $H status | grep '^primary: [1-9].*([0-9]'"
"$H" stop
check "and nest ends" gone

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
