# shellcheck shell=sh
# policy.sh HEARTH POLICY NEXT: logs POLICY under load, to POLICY.log in the current folder, until NEXT replaces it. Then kills the
# loader of NEXT. Writes the instructions that the verifier processed for NEXT to NEXT.counts. Prints `ok WHAT` or `FAILED WHAT`;
# the last line is `end`.
H=$1
policy=$2
next=$3
. "$(dirname "$0")/checks.sh"

spins() { for cores in 3 2,3 0-3; do taskset -c "$cores" sh -c 'n=0; while [ $n -lt 20000 ]; do n=$((n + 1)); done' & threads="$threads $!"; done; }
changes() { # other cores change the nice value and the affinity of threads, if these have not ended
	for thread in $threads; do
		{ renice 5 "$thread" && taskset -pc 1-3 "$thread"; } || ! kill -0 "$thread" || return
	done
}
pipes() { "$H" play hackbench:groups=1,fds=3,loops=3 --burn time; }
# The kernel verifies NEXT meanwhile.
replaced() {
	spins
	changes && runs_programs 10 && pipes && wait $first
}
placements() { "$H" status --json | sed -n '/"placements"/,/}/s/.*: \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n; exit n < 20 }'; }
counts() { cat /proc/$second/fdinfo/* | sed -n 's/^verified_insns:.//p' >"$next.counts"; }

threads=
"$H" run "$policy" --frequency slow --log "$policy.log" 2>/tmp/first.log &
first=$!
check "$policy starts" until_is "$policy"
"$H" run "$next" --replace 2>/tmp/second.log &
second=$! loader=$!
check "$policy runs threads until $next replaces it" replaced
check "$policy lost nothing" status 1 grep -q "lost\|unusable" /tmp/first.log
check "$next has replaced it" until_is "$next"
check "$next runs programs" runs_programs 10
check "$next places threads" placements
counts
kill -9 $second
check "the kernel takes over from a killed loader" gone
check "threads run then" alive
# shellcheck disable=SC2086 # several processes
check "threads that ran before live" wait $threads
echo end
