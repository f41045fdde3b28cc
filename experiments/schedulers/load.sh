# load.sh LOAD: runs it in the guest's memory, from what lies beside this script.
here=$(cd "$(dirname "$0")" && pwd)
case $1 in
configure)
	rm -rf /tmp/configure
	mkdir /tmp/configure
	cd /tmp/configure && exec sh "$here/source/configure" --quiet
	;;
build)
	rm -rf /tmp/build
	cp -r "$here/build" /tmp/build
	exec make -s -C /tmp/build -j"$(nproc)"
	;;
esac
