# shellcheck shell=sh
# cost.sh HEARTH POLICY LOAD...: writes what a cycle of each load (cycles.c) costs under POLICY to POLICY.cost in the current folder,
# in instructions; the last line is `end`. All programs of the policy count, those that run beside the load, too. Nest does not spin:
# an idle core that spins runs programs all the time.
H=$1
policy=$2
shift 2
. "$(dirname "$0")/checks.sh"

cc -O1 -o /tmp/cycles "$(dirname "$0")/cycles.c" || exit
[ "$policy" != nest ] || no_spinning='--param s_max=0'
# shellcheck disable=SC2086 # none, or two words
"$H" run "$policy" --frequency slow ${no_spinning-} 2>/tmp/policy.log &
loader=$!
check "$policy starts" until_is "$policy"
echo 1 >/proc/sys/kernel/bpf_stats_enabled
for load; do /tmp/cycles $loader "$load" >>"$policy.cost" || echo "FAILED $load is not measured"; done
cat "$policy.cost"
echo 0 >/proc/sys/kernel/bpf_stats_enabled
echo end
