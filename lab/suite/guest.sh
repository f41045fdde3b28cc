#!/bin/sh
# guest.sh HEARTH FOLDER NAME [LIMIT]: in the guest. Prepares the program NAME, runs it once, and records it as
# FOLDER/NAME.trace, for at least LIMIT seconds. The commands are FOLDER/NAME.prepare and FOLDER/NAME.run.
set -e
hearth=$1 folder=$(realpath "$2") name=$3 limit=${4:-0}
CPUS=$(nproc)
export CPUS

# All that the program uses is in memory: each process that ends flushes its output, which in FOLDER is the host's work.
mkdir "/tmp/$name"
cp "$folder/$name.prepare" "$folder/$name.run" /tmp
cd "/tmp/$name"
exec </dev/null >/tmp/log 2>&1
trap 'cp /tmp/log "$folder/$name.log"' EXIT

# bounded SECONDS COMMAND...: stops the command after so many seconds (0: never). That is no error.
bounded() {
	timeout "$@" || [ $? = 124 ]
}

sh -e "/tmp/$name.prepare"
# What the recorded run reads is then in memory. A script that is cut off gets further when recorded, hence the longer limit.
bounded "$((2 * limit))" sh -e "/tmp/$name.run"
rm -rf "$folder/$name.trace"
# The recorder needs time to start. What comes after the limit is left out later.
[ "$limit" = 0 ] || limit=$((limit + 2))
bounded "$limit" "$hearth" record -o "$folder/$name.trace" -- sh -e "/tmp/$name.run"
