# shellcheck shell=sh
# storms.sh HEARTH POLICY...: spinning threads whose nice value, affinity or class change all the time, under policies and under
# the kernel's own scheduler. For guests that count instructions: in others the host makes gaps, too. Prints `ok WHAT` or `FAILED
# WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

# cells LOADS POLICY
cells() { LOADS=$1 sh "$(dirname "$0")/soak.sh" "$H" 1 4 "$2"; }
for policy in kernel "$@"; do
	case $policy in
	cfs-cwc-flat) cells renice "$policy" ;;
	*) cells "renice affinity class" "$policy" ;;
	esac
done | tee /tmp/cells

# A field of cell POLICY LOAD: 4 is the longest gap in ms, 5 the smallest share.
field() { awk -v policy="$1" -v load="$2" -v field="$3" '$1 == "cell" && $2 == policy && $3 == load { print $field }' /tmp/cells; }
# The gap is at most twice the kernel's; 60 ms say nothing.
waits() { [ "$(field "$1" "$2" 4)" -le 60 ] || [ "$(field "$1" "$2" 4)" -le $(($(field kernel "$2" 4) * 2)) ]; }
# The smallest share is at least a third of the kernel's. A thread that starves has less than a fifth.
shares() { [ $(($(field "$1" "$2" 5) * 3)) -ge "$(field kernel "$2" 5)" ]; }

for policy; do
	case $policy in
	eevdf) waits="renice affinity class" shares="renice affinity class" ;;
	cfs)
		# CFS starves threads in affinity: Linux 6.1's gaps are 54 to 66 ms.
		check "cfs lets no thread wait for much longer than CFS: affinity" [ "$(field cfs affinity 4)" -le 130 ]
		waits=renice shares="renice class"
		;;
	*) waits=renice shares= ;;
	esac
	for load in $waits; do check "$policy lets no thread wait: $load" waits "$policy" "$load"; done
	for load in $shares; do check "$policy starves no thread: $load" shares "$policy" "$load"; done
done
check "no policy is ejected" sh -c '! grep ^ended /tmp/cells'
echo end
