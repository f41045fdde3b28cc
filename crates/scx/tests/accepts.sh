# shellcheck shell=sh
# accepts.sh HEARTH POLICY...: the kernel's verifier accepts each policy (result: POLICY.verified.json in the current folder).
# Prints `ok WHAT` or `FAILED WHAT`; the last line is `end`.
H=$1
shift
. "$(dirname "$0")/checks.sh"

# In parallel: each verification uses one CPU.
verify() {
	verifiers=
	for policy; do
		"$H" build "$policy" --verify --json >"$policy.verified.json" &
		verifiers="$verifiers $!"
	done
	for verifier in $verifiers; do wait "$verifier" || return 1; done
}
check "the verifier accepts every policy" verify "$@"
echo end
