# shellcheck shell=sh
# replaces.sh HEARTH: a policy is changed, recorded, replaced and killed under load, in a live kernel. Prints `ok WHAT` or
# `FAILED WHAT`; the last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

for _ in 1 2 3 4 5 6; do
	(while :; do /bin/true; sleep 0.1; done) &
	loads="$loads $!"
done
"$H" run nest --frequency model:xeon-5218 --record run.trace --cost 2>/tmp/nest.log &
nest=$!
check "nest starts under load" until_is nest
check "parameters change" says "r_max was 5, is 2" "$H" set r_max=2
check "bounds hold" status 1 "$H" set s_max=99s
check "the kernel measures placements" says "placement: " "$H" status
check "a second run is refused" says "nest runs (hearth, process $nest" "$H" run cfs
"$H" run smove --replace 2>/tmp/smove.log &
smove=$!
# The old loader writes the rest of its recording meanwhile.
check "the new one takes over under load" until_is smove
check "the old one ends well" wait $nest
# shellcheck disable=SC2086 # several processes
check "the loads live" kill -0 $loads
check "the system's recording can be read" says "placements by reason" "$H" report run.trace
check "a separate recorder sees the decisions" says "its decisions are recorded" "$H" record -a --duration 2s -o beside.trace
check "its decisions have reasons" says "placements by reason" "$H" report beside.trace
kill -9 $smove
check "the kernel takes over from a killed loader" gone
check "threads run then" alive
# shellcheck disable=SC2086
check "the loads live on" kill -0 $loads
check "a killed loader leaves no policy" says "no policy of Hearth runs here" "$H" status
# shellcheck disable=SC2086
kill $loads
echo end
