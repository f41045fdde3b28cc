# shellcheck shell=sh
# load.sh LOAD: runs a load from the files beside this script, in the guest's memory.
here=$(cd "$(dirname "$0")" && pwd)
[ -d /tmp/source ] || cp -r "$here/source" /tmp/source
case $1 in
configure)
	rm -rf /tmp/configure
	mkdir /tmp/configure
	cd /tmp/configure && exec sh /tmp/source/configure --quiet
	;;
build)
	rm -rf /tmp/build
	cp -r "$here/build" /tmp/build
	exec make -s -C /tmp/build -j"$(nproc)"
	;;
esac
