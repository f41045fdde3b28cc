# shellcheck shell=sh
# unit.sh HEARTH: whether packaging/hearth@.service runs a policy under systemd, with the rights that it leaves. systemd is the
# first process of a namespace in the guest.
H=$(command -v "$1")
. "$(dirname "$0")/checks.sh"
here=$(cd "$(dirname "$0")/../../.." && pwd)

# The unit has a /tmp of its own, and the folder of the policies may be in a home.
metrics=/var/lib/prometheus/node-exporter
mkdir -p $metrics
sed "s#@PREFIX@/bin/#/run/#; s#^Environment=HEARTH_FLAGS=.*#Environment='HEARTH_FLAGS=--metrics $metrics/hearth.prom'#; s#^ProtectHome=.*#ProtectHome=read-only\nEnvironment=HEARTH_LIB=$HEARTH_LIB#" \
	"$here/packaging/hearth@.service" >/tmp/unit
cat >/tmp/first.sh <<'END'
mount --make-rprivate /
mkdir /tmp/run
mount -t tmpfs none /tmp/run
mkdir -p /tmp/run/systemd/system
cp /tmp/unit /tmp/run/systemd/system/hearth@.service
cp "$1" /tmp/run/hearth
mount --move /tmp/run /run
# systemd-tmpfiles empties it.
mount -t tmpfs none /tmp
echo '[Unit]' >/run/systemd/system/alone.target
export container=other
exec /lib/systemd/systemd --system --unit=alone.target --log-target=console
END
unshare --pid --fork --mount --mount-proc --cgroup --uts sh /tmp/first.sh "$H" >/tmp/systemd.log 2>&1 &
first() { pgrep -P "$1" -x systemd; }
check 'systemd starts' soon first $!
pid=$(first $!)
system() { nsenter -t "$pid" -a "$@"; }
answers() { [ "$(system systemctl is-system-running)" = running ]; }
check 'systemd runs' soon answers
# capabilities BITS: those of the policy's process.
capabilities() { says "CapBnd:.*$1\$" cat "/proc/$(pgrep -f 'hearth run')/status"; }
restarted() { says 'NRestarts=1' system systemctl show hearth@cfs -p NRestarts && is cfs; }
# Other users read the metrics.
exports() { system grep "policy=\"$1\"" $metrics/hearth.prom && [ "$(system stat -c %a $metrics/hearth.prom)" = 644 ]; }
is_off() { [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; }

check 'a unit starts its policy' system systemctl start hearth@nest
check 'when start returns, the policy schedules' is nest
check 'it has three capabilities' capabilities c000800000
check 'it writes metrics' exports nest
check 'another instance takes over' system systemctl start hearth@cfs
check 'and schedules' is cfs
check 'the first one has ended' says inactive system systemctl is-active hearth@nest
system systemctl kill -s KILL hearth@cfs
n=0
until restarted >/dev/null 2>&1 || [ $n = 300 ]; do n=$((n + 1)) && sleep 0.2; done
check 'a killed one starts again' restarted
check 'the unit stops' system systemctl stop hearth@cfs
check 'the kernel schedules' is_off
check 'the metrics are gone' status 1 system test -e $metrics/hearth.prom
echo end
