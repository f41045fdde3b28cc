# shellcheck shell=sh
# races.sh HEARTH: steals, while the cores that they steal from choose their next threads, in a live kernel. Prints `ok WHAT`
# or `FAILED WHAT`; the last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

"$H" run "$(dirname "$0")/astray.ipa" 2>/tmp/astray.log &
loader=$!
check "the policy starts" until_is astray 3000
timeout 30 "$H" play hackbench:groups=4,fds=10,loops=8000 --burn time >/dev/null
"$H" status --json >/tmp/status.json
check "cores steal" grep -q '"steals": [1-9][0-9][0-9]' /tmp/status.json
check "no steal changes a thread that another core takes" grep '"astray": 0,' /tmp/status.json
kill -TERM $loader
check "it ends" wait $loader
echo end
