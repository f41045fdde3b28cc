# shellcheck shell=sh
# sleepers.sh HEARTH POLICY...: cores that have slept since before a policy began are idle to it, in a quiet live kernel whose
# time is the number of instructions. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

spread() { # Two cores are left for hearth and the shell.
	threads=$(($(nproc) - 2))
	there=
	for _ in $(seq $threads); do
		(while :; do :; done) &
		there="$there $!"
	done
	sleep 0.05
	cores=$(for thread in $there; do cut -d ' ' -f 39 "/proc/$thread/stat"; done | sort -u | wc -l)
	# shellcheck disable=SC2086 # several processes
	kill $there
	echo "$threads threads on $cores cores"
	[ "$cores" = $threads ]
}

for policy; do
	sleep 3
	"$H" run "$policy" 2>"/tmp/$policy.log" &
	loader=$!
	check "$policy starts" until_is "$policy"
	check "$policy uses cores that have slept" spread
	kill -TERM $loader
	check "$policy ends" wait $loader
done
echo end
