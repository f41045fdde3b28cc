# shellcheck shell=sh
# loses.sh HEARTH: the kernel ejects a policy that loses threads, in a live kernel that compiles it. Prints `ok WHAT` or `FAILED
# WHAT`; the last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

"$H" run "$(dirname "$0")/loses.ipa" --watchdog 5s 2>/tmp/loses.log &
loses=$!
check "a policy that loses threads starts" until_is loses 3000
nice -n 10 sh -c 'sleep 0.1; exit 3' &
lost=$!
check "it is ejected" gone
check "its loader ends with an error" status 1 wait $loses
check "it reports the stall" says "failed to run for" cat /tmp/loses.log
check "the lost thread runs again" status 3 wait $lost
check "threads run then as well" alive
echo end
