# shellcheck shell=sh
# cost.sh HEARTH POLICY LOAD...: writes what a cycle of each load (cycles.c) costs under POLICY to POLICY.cost in the current folder,
# in instructions; the last line is `end`. All programs of the policy count, those that run beside the load, too. Nest does not spin:
# an idle core that spins runs programs all the time. Another program than hearth is a scheduler itself; POLICY is its name.
H=$1
policy=$2
shift 2
. "$(dirname "$0")/checks.sh"
starts() { until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; do kill -0 "$loader" && sleep 0.2 || return; done; }

cc -O1 -o /tmp/cycles "$(dirname "$0")/cycles.c" || exit
case ${H##*/}:$policy in
hearth:nest) "$H" run nest --frequency slow --param s_max=0 2>/tmp/policy.log & ;;
hearth:*) "$H" run "$policy" --frequency slow 2>/tmp/policy.log & ;;
*) "$H" >/tmp/policy.log 2>&1 & ;;
esac
loader=$!
check "$policy starts" starts
echo 1 >/proc/sys/kernel/bpf_stats_enabled
for load; do /tmp/cycles $loader "$load" >>"$policy.cost" || echo "FAILED $load is not measured"; done
cat "$policy.cost"
echo 0 >/proc/sys/kernel/bpf_stats_enabled
echo end
