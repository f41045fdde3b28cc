# shellcheck shell=sh
# plugs.sh HEARTH: policies start again when a core goes or comes, in a live kernel. Prints `ok WHAT` or `FAILED WHAT`; the
# last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

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
echo end
