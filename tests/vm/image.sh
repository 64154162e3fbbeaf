#!/bin/bash
# The guest's image: a Debian 12 root file system, a 6.12 kernel with siw built for it, and an initramfs.
#   tests/vm/image.sh          builds it if it is not in the cache, then prints its folder
# The cache is ${XDG_CACHE_HOME:-/var/cache}/iseran-vm/<hash of this file and init>; delete it to build afresh.
# Ends with 77, and the reason, where it cannot be built. Called by tests/vm/guest.sh.
set -eu
cd "$(dirname "$0")"

SUITE=bookworm
KERNEL=6.12 # ublk is in it; siw, which Debian does not build, comes from the source package of the same version
PACKAGES="kmod iproute2 procps busybox-static rdma-core ibverbs-utils ibverbs-providers perftest rdmacm-utils
	tgt libiscsi-bin open-iscsi fio sg3-utils lsscsi e2fsprogs util-linux mount nbd-client nvme-cli qemu-utils
	qemu-block-extra fuse3 libfuse3-3 libisal2 liburing2 libjson-c5 libyaml-0-2 libsystemd0 libssl3 libibverbs1
	librdmacm1 libasan8 libubsan1 strace jq tcpdump"
# What a guest without such hardware never loads: it would only make the image larger.
UNWANTED="sound drivers/gpu drivers/media drivers/net/wireless drivers/net/ethernet drivers/usb drivers/hid
	drivers/iio drivers/staging drivers/input drivers/hwmon drivers/platform drivers/bluetooth net/bluetooth
	net/mac80211 net/wireless drivers/accel drivers/mtd drivers/firewire drivers/isdn drivers/net/can"

skip() {
	echo "$*" >&2
	exit 77
}
cache=${XDG_CACHE_HOME:-/var/cache}/iseran-vm
key=$(cat image.sh init | sha256sum | cut -c1-16)
image=$cache/$key
if [ -f "$image/complete" ]; then
	echo "$image"
	exit 0
fi
[ "$(id -u)" -eq 0 ] || skip "the guest's image is built by debootstrap, which needs root"
for c in debootstrap mkfs.ext4 cpio xz; do
	command -v $c >/dev/null || skip "$c is not installed (tests/packages.sh vm)"
done
mkdir -p "$cache" || skip "$cache cannot be made"
exec 9>"$cache/lock"
flock 9 # one build at a time; whoever waited finds it done
[ -f "$image/complete" ] && echo "$image" && exit 0

work=$(mktemp -d "$cache/build.XXXXXX")
root=$work/root
log=$cache/build.log
start=$(date +%s)
end() {
	status=$?
	for m in proc sys dev; do
		if mountpoint -q "$root/$m"; then umount -l "$root/$m"; fi
	done
	rm -rf --one-file-system "$work"
	[ $status -eq 0 ] || { tail -n 20 "$log" && echo "the image was not built; the whole log is $log"; } >&2
}
trap end EXIT
say() { echo "# image: $* ($(($(date +%s) - start)) s)" >&2; }
: >"$log"

# The mirrors that this host uses, if it is a Debian of the same suite; Debian's own otherwise.
mirror() { # suite default
	apt-get indextargets --format '$(CODENAME) $(SITE)' 'Created-By: Packages' 2>/dev/null |
		awk -v s="$1" '$1 == s && !/ports/ { print $2; exit }' | grep . || echo "$2"
}
main=$(mirror $SUITE http://deb.debian.org/debian)
security=$(mirror $SUITE-security http://deb.debian.org/debian-security)
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" >>"$log" 2>&1; }

say "debootstrap $SUITE from $main"
debootstrap --variant=minbase "$SUITE" "$root" "$main" >>"$log" 2>&1 ||
	skip "debootstrap could not fetch $SUITE from $main; its log is $log"
printf 'deb %s %s main\ndeb %s %s-security main\n' "$main" $SUITE "$security" $SUITE >"$root/etc/apt/sources.list"
apt-config dump | grep -iE '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/50host" || true
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # nothing is started in the chroot
chmod 755 "$root/usr/sbin/policy-rc.d"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
printf 'path-exclude=/usr/share/%s/*\n' doc man locale info >"$root/etc/dpkg/dpkg.cfg.d/no-docs"
mount -t proc proc "$root/proc"

say "packages"
in_root apt-get -q update
# shellcheck disable=SC2086
in_root apt-get -q -y --no-install-recommends install $PACKAGES gcc-12 make xz-utils

say "kernel and siw"
release=$(chroot "$root" apt-cache depends linux-image-$KERNEL-amd64 | sed -n 's/^ *Depends: linux-image-//p')
abi=${release%-amd64}
# Unpacked, not installed: as packages they would build an initramfs that nothing here reads.
in_root sh -ec "cd /tmp && apt-get -q download linux-image-$release linux-headers-$release linux-headers-$abi-common \
		linux-kbuild-$abi linux-source-$KERNEL
	for p in linux-image linux-headers linux-kbuild; do
		for f in \$p*.deb; do dpkg-deb --fsys-tarfile \$f | tar -x --keep-directory-symlink -C /; done
	done
	dpkg-deb --fsys-tarfile linux-source-$KERNEL*.deb | tar -xO ./usr/src/linux-source-$KERNEL.tar.xz |
		tar -xJf - --strip-components=1 --wildcards '*/drivers/infiniband/sw/siw/*'
	make -C /lib/modules/$release/build M=/tmp/drivers/infiniband/sw/siw CONFIG_RDMA_SIW=m CONFIG_DEBUG_INFO_BTF_MODULES= CC=gcc-12 modules
	strip --strip-debug drivers/infiniband/sw/siw/siw.ko"
modules=$root/lib/modules/$release
for m in $UNWANTED; do rm -rf --one-file-system "$modules/kernel/$m"; done
mkdir -p "$modules/updates"
mv "$root/tmp/drivers/infiniband/sw/siw/siw.ko" "$modules/updates/"
say "initramfs and root file system"
in_root apt-get -q -y --purge --auto-remove remove gcc-12 make
in_root apt-get clean
rm -rf "$root"/tmp/* "$root"/usr/src/* "$root"/usr/lib/linux-kbuild-* "$root"/var/lib/apt/lists/* "$modules"/{build,source}
in_root depmod "$release"
umount "$root/proc"

# The initramfs: busybox and the modules that lead to /dev/vda, unpacked, in the order they are needed.
mkdir -p "$work/initramfs/bin" "$work/initramfs/modules" "$work/ready"
cp "$root/bin/busybox" "$work/initramfs/bin/"
install -m 755 init "$work/initramfs/init"
for m in virtio_pci virtio_blk ext4 crc32c_generic; do
	chroot "$root" modprobe -S "$release" -D "$m"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/order"
while read -r m; do
	name=$(basename "$m" .xz)
	case "$m" in
	*.xz) xz -dc "$root$m" >"$work/initramfs/modules/$name" ;;
	*) cp "$root$m" "$work/initramfs/modules/$name" ;;
	esac
	echo "$name" >>"$work/initramfs/modules/order"
done <"$work/order"
(cd "$work/initramfs" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/ready/initrd"
cp "$root/boot/vmlinuz-$release" "$work/ready/vmlinuz"
echo "$release" >"$work/ready/version"
mkfs.ext4 -q -d "$root" -O ^has_journal "$work/ready/root.img" 3G >>"$log" 2>&1
touch "$work/ready/complete"
rm -rf --one-file-system "$image"
mv "$work/ready" "$image"
say "ready: $image"
echo "$image"
