# shellcheck shell=sh
# record.sh HEARTH POLICY: recordings of commands and of played threads, in the current folder: record.trace, play.trace,
# and POLICY.trace with the policy's decisions. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
policy=$2
. "$(dirname "$0")/checks.sh"
five='for i in 1 2 3 4 5; do /bin/true & done; wait'

check "the BPF recorder" "$H" record --method bpf -o record.trace -- sh -c "$five"
check "its trace can be read" says "context switches" "$H" report record.trace
belongs_to() { [ "$(find "$2" ! -user "$1" -o -perm /077 | wc -l)" = 0 ]; }
if has_programs; then
	SUDO_UID=65534 SUDO_GID=65534 "$H" record -o sudo.trace -- true 2>/tmp/sudo.log
	check "a recording is for the user of sudo only" belongs_to 65534 sudo.trace
fi
check "the tracefs recorder" "$H" record --method tracefs -o tracefs.trace -- sh -c "$five"
check "the player" "$H" record -o play.trace -- "$H" play hackbench:groups=1,fds=3,loops=5 --burn time
check "$policy's decisions" "$H" exec "$policy" --record "$policy.trace" -- sh -c "$five"
check "they have reasons" says "placements by reason" "$H" report "$policy.trace"
check "a PID namespace is no place to record from" says "PID namespace of its own" unshare -p -f --mount-proc "$H" record -- true
echo end
