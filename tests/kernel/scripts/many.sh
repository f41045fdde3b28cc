# shellcheck shell=sh
# many.sh HEARTH POLICY...: policies on more than 64 cores. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

last=$(($(nproc) - 1))
on_the_last() { timeout 120 taskset -c "$last" sh -c 'n=0; while [ $n -lt 20 ]; do /bin/true; n=$((n + 1)); done'; }
everywhere() {
	there=
	for core in $(seq 0 "$last"); do
		taskset -c "$core" /bin/true &
		there="$there $!"
	done
	for thread in $there; do wait "$thread" || return 1; done
}
forks() { timeout 240 sh -c 'n=0; while [ $n -lt 100 ]; do /bin/true & n=$((n + 1)); done; wait'; }

for policy; do
	"$H" run "$policy" 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	check "$policy knows all cores" says "\"cores_online\": $((last + 1))," "$H" status --json
	check "$policy runs threads on the last core" on_the_last
	check "$policy runs threads on every core" everywhere
	check "$policy runs programs" forks
	check "$policy still schedules" is "$policy"
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
