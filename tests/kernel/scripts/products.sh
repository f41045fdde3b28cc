# shellcheck shell=sh
# products.sh HEARTH PRODUCT...: the verifier accepts each product of the feature model, and it schedules a live kernel.
# Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

forks() { timeout 60 sh -c 'n=0; while [ $n -lt 50 ]; do /bin/true & /bin/true; wait; n=$((n + 1)); done'; }
pipes() { timeout 120 "$H" play hackbench:groups=1,fds=3,loops=20 --burn time; }

for product; do
	check "the verifier accepts $product" "$H" build "$product" --verify
	"$H" run "$product" 2>"/tmp/$product.log" &
	loader=$!
	check "$product starts" until_is "$product"
	check "$product runs programs" forks
	check "$product runs pipes" pipes
	check "$product still schedules" is "$product"
	kill -TERM $loader
	check "$product ends" wait $loader
done
echo end
