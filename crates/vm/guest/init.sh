#!/busybox sh
# shellcheck shell=dash disable=SC1091,SC2154 # the settings: hearth writes them
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The guest's init in the initramfs: builds the guest's root from the host's and switches to it.
# hearth writes /settings (see ../src/initramfs.rs):
#   mode      "probe": report that a guest can run here, then stop; "run": run a command; "stay": run an agent
#   name      the machine's name, if the mode is "stay"
#   shares    the folders of the shares rw0, rw1, ..., one per line
#   seen      folders and files of the host's /tmp that the guest sees, one per line
#   ports     the names of the ports other than "status"
#   system    "yes": the share "system" has the guest's programs, and hides the host's; or ""
#   hearth    the program that commands find as `hearth` ("" if there is none)
#   modules   the host's folder of this kernel's modules ("" if there is none)
#   objects   the host's folder of compiled policies ("" if there is none)
B=/busybox
export PATH=/none

$B mkdir -p /proc /sys /dev /tmp /host /over /new
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
. /settings

# port NAME: prints the device of a virtio port. The devices appear while the kernel starts.
port() {
	tries=0
	while [ $tries -lt 200 ]; do
		for port in /sys/class/virtio-ports/*; do
			if [ -e "$port/name" ] && read -r name <"$port/name" && [ "$name" = "hearth.$1" ]; then
				echo "/dev/${port##*/}"
				return
			fi
		done
		$B usleep 50000
		tries=$((tries + 1))
	done
}

status=$(port status)

# fail WHY: reports an error to the host, which shows it to the user.
fail() {
	echo "hearth: $*" >/dev/kmsg
	[ -z "$status" ] || echo "failed $*" >"$status"
	$B sleep 1
	$B poweroff -f
}

if [ "$mode" = probe ]; then
	echo ready >"$status"
	$B poweroff -f
fi

for module in /modules/*; do
	[ ! -e "$module" ] || $B insmod "$module" || fail "cannot load the kernel module ${module##*/}"
done

# Overlay of the host's root (lower) and a RAM disk (upper): everything is writable, the host stays unchanged.
$B mount -t virtiofs -o ro root /host ||
	fail "cannot mount the host's root: the kernel needs virtio-fs (CONFIG_VIRTIO_FS), built in or among its modules"
lower=/host
if [ -n "$system" ]; then
	$B mkdir /system
	$B mount -t virtiofs -o ro system /system || fail "cannot mount the programs for this processor"
	lower=/system:/host
fi
$B mount -t tmpfs -o mode=755 over /over
$B mkdir /over/upper /over/work
$B mount -t overlay -o "lowerdir=$lower,upperdir=/over/upper,workdir=/over/work,volatile" over /new ||
	fail "cannot make the root writable: the kernel needs overlayfs (CONFIG_OVERLAY_FS), built in or among its modules"

$B mount -t proc proc /new/proc
$B mount -t sysfs sys /new/sys
$B mount -t devtmpfs dev /new/dev
$B mkdir -p /new/dev/pts /new/dev/shm
$B mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /new/dev/pts
$B mount -t tmpfs -o mode=1777 shm /new/dev/shm
for link in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
	$B ln -sfn "/proc/self/${link#*:}" "/new/dev/${link%%:*}"
done
$B mount --bind /new/tmp /tmp
$B mount -t tmpfs -o mode=1777 tmp /new/tmp
echo "$seen" | while read -r place; do
	[ -e "$place" ] || continue
	if [ -d "$place" ]; then $B mkdir "/new$place"; else : >"/new$place"; fi
	$B mount --bind "$place" "/new$place"
done
$B mount -t tmpfs -o mode=755 run /new/run
# Some kernels lack some of these file systems.
$B mount -t cgroup2 cgroup2 /new/sys/fs/cgroup
$B mount -t debugfs debugfs /new/sys/kernel/debug
$B mount -t tracefs tracefs /new/sys/kernel/tracing
$B mount -t bpf bpf /new/sys/fs/bpf

number=0
echo "$shares" | while read -r folder; do
	[ -n "$folder" ] || continue
	$B mkdir -p "/new$folder" && $B mount -t virtiofs "rw$number" "/new$folder" || exit 1
	number=$((number + 1))
done || fail "cannot mount the shared folders"

# Files that programs find by the kernel's release; BPF loaders read the configuration.
release=$($B uname -r)
if [ -e /config ]; then
	$B mkdir -p /new/boot
	$B cp /config "/new/boot/config-$release"
fi
if [ -n "$modules" ]; then
	$B mkdir -p "/new/lib/modules/$release" && $B mount --bind "/host$modules" "/new/lib/modules/$release"
fi

$B mkdir -p /new/run/hearth/bin
[ -z "$hearth" ] || $B ln -s "$hearth" /new/run/hearth/bin/hearth
if [ -n "$objects" ]; then
	$B mkdir /new/run/hearth/objects && $B mount --bind "/host$objects" /new/run/hearth/objects
fi
$B cp /busybox /settings /command /run.sh /new/run/hearth/
for name in status $ports; do
	echo "$name=$(port "$name")" >>/new/run/hearth/settings
done
$B umount /dev /sys /proc
exec $B switch_root /new /run/hearth/busybox sh /run/hearth/run.sh
