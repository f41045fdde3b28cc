# shellcheck shell=sh
# tries.sh HEARTH: tests try in a live kernel. Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
. "$(dirname "$0")/checks.sh"

check "try compares the kernel's scheduler with a policy" says "4 runs each, in turn" "$H" try eevdf --runs 4 -- sh -c '/bin/true & wait'
# A guest on the processor has KVM's clock.
if ! grep -q kvm /sys/devices/system/clocksource/clocksource0/available_clocksource; then
	check "an emulator's times give no verdict" grep "cannot tell whether eevdf helps .* emulator" /tmp/out
fi
check "try prints its runs as JSON" says '"why_no_energy"' "$H" try cfs --runs 4 --json -- true
check "try leaves no policy" gone
check "a run that fails ends try" status 1 "$H" try eevdf --runs 4 -- false
check "a failed try leaves no policy" gone
echo end
