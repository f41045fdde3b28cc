# shellcheck shell=sh
# soaks.sh HEARTH POLICY...: a part of the soak. Prints `FAILED WHAT` if a policy is ejected or threads are lost; the last line is
# `end`.
export LOADS="class affinity cgroups fifo kills"
H=$1
shift
sh "$(dirname "$0")/soak.sh" "$H" 1 5 kernel "$@" |
	sed 's/^ended/FAILED ejected:/; /^cell .* [1-9][0-9]*$/s/^/FAILED lost threads: /'
