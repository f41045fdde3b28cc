# shellcheck shell=dash disable=SC1091,SC2154 # the settings: hearth writes them
# shellcheck disable=SC2094 # `leader`, `in`, `out`, `err` are a file and pipes, each open for one side of a copy
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The guest's init after init.sh has built the root: runs the command and reports its exit status, or runs the agent
# (../src/detached/agent.rs).
# More settings (see init.sh): `terminal` ("ROWS COLUMNS", or "" if the command gets no terminal), `mark` (the
# end marker of each output stream, which tells the host that the stream is complete), `want_dmesg` (yes or ""),
# and the device of each port.
cd /run/hearth || exit
B=/run/hearth/busybox
. ./settings

$B hostname hearth
$B ip link set lo up

# Messages of the host: the terminal's size, the command's timeout, the arrival of all output.
while read -r word rows columns; do
	case $word in
	size) $B stty -F /dev/hvc0 rows "$rows" cols "$columns" ;;
	end) read -r leader <leader && kill -9 "-$leader" ;;
	bye) $B poweroff -f ;;
	stop) $B sync && $B poweroff -f ;;
	esac
done <"$control" &

# Not run with `&`, so that this shell reaps the orphans of the guest meanwhile.
if [ "$mode" = stay ]; then
	/run/hearth/bin/hearth vm __agent </dev/null >/dev/kmsg 2>&1
	echo "failed its agent, $hearth, ended with status $?" >"$status"
	$B sleep 30
	$B poweroff -f
fi

# The command is not run with `&`, because then it would be deaf to the terminal's Ctrl-C. (It is the leader
# of a session, and writes down its number.)
copies=
if [ -n "$terminal" ]; then
	# A terminal that no process has open loses its size.
	exec 9<>/dev/hvc0
	# shellcheck disable=SC2086
	set -- $terminal
	$B stty -F /dev/hvc0 sane rows "$1" cols "$2"
	echo ready >"$status"
	$B setsid -c /bin/sh ./command <&9 >&9 2>&1 9<&-
else
	# Open both ends of each pipe through a read-write descriptor. Opening one end alone would block until the
	# other is opened, and the exit of any child would interrupt it.
	$B mkfifo in out err
	exec 9<>in 3<in 4>in 9<>out 5<out 6>out 9<>err 7<err 8>err 9<&-
	$B cat "$stdin" >&4 3<&- 4>&- 5<&- 6>&- 7<&- 8>&- &
	{ $B cat <&5; printf '%s' "$mark"; } >"$stdout" 3<&- 4>&- 6>&- 7<&- 8>&- &
	copies=$!
	{ $B cat <&7; printf '%s' "$mark"; } >"$stderr" 3<&- 4>&- 5<&- 6>&- 8>&- &
	copies="$copies $!"
	exec 4>&- 5<&- 7<&-
	echo ready >"$status"
	$B setsid /bin/sh ./command <&3 >&6 2>&8 3<&- 6>&- 8>&-
fi
ended=$?
exec 3<&- 6>&- 8>&-

# Processes that the command left behind would keep its output open: kill all but our own. Kernel threads
# have no /proc/PID/exe.
for process in /proc/[0-9]*; do
	[ -e "$process/exe" ] || continue
	[ "$process/exe" -ef "$B" ] || kill -9 "${process#/proc/}"
done 2>/dev/null
# shellcheck disable=SC2086
[ -z "$copies" ] || wait $copies
$B sync
[ -z "$want_dmesg" ] || { $B dmesg; printf '%s' "$mark"; } >"$dmesg"
echo "exit $ended" >"$status"
$B sleep 30
$B poweroff -f
