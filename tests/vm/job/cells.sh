# The cells: which stories run for a pair of target and initiator. Sourced by main.
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

# Everything that a block device can show: TARGET INITIATOR LARGEST_KIB LOGINS
cell_disk() {
	story "$1 on $DEVICE, $2"
	host_allows "$1" "$2" || return
	initiator_use "$2"
	KIND=$1 SLOW=3s
	[ "$2" = iserd ] && SLOW=40s
	target_start "$1" none || return
	disk_story "$3"
	abort_story
	loss_story
	login_story "$4"
	target_stop
	chap_story
	initiator_stop
}
cell_libiscsi() { # TARGET LOGINS
	story "$1 on $DEVICE, libiscsi"
	host_allows "$1" libiscsi || return
	target_start "$1" none || return
	libiscsi_story "$2"
	cu_story
	target_stop
	libiscsi_chap_story
}
cell_qemu() { # TARGET LOGINS
	story "$1 on $DEVICE, QEMU"
	host_allows "$1" qemu || return
	target_start "$1" none || return
	qemu_story "$2"
	target_stop
	qemu_chap_story
}
# The pairs that do not have us in them, to tell a peer's own bug from ours.
cell_reference() { # TARGET LARGEST_KIB
	story "reference: $1 on $DEVICE, kernel"
	host_allows "$1" kernel libiscsi || return
	REFERENCE=1
	initiator_use kernel
	KIND=$1
	target_start "$1" none || return
	disk_story "$2"
	target_stop
	chap_story
	initiator_stop
	story "reference: $1 on $DEVICE, libiscsi"
	target_start "$1" none || return
	libiscsi_reference
	cu_story
	target_stop
	REFERENCE=
}

# A file system on the remote disk, which isertd's death in mid-write does not reach: iserd's device, then the kernel's.
TREE=/usr/lib/udev
mount_disk() {
	wait_device $LUN && mkdir -p /mnt && mount "/dev/$(device_of $LUN)" /mnt
}
cell_mounted() {
	story "mounted on $DEVICE"
	KIND=isertd SLOW=3s
	initiator_use iserd
	rm -f $DISK /tmp/durable
	target_start isertd none || return
	node_new >/dev/null
	check "login" login || return
	wait_device $LUN
	check "mkfs.ext4" mkfs.ext4 -q -F "/dev/$(device_of $LUN)"
	check "mount" mount_disk || return
	check "a tree is copied" cp -a $TREE /mnt/tree
	check "unmount" umount /mnt
	check "mount again" mount_disk || return
	check "the tree is the same" diff -r --no-dereference $TREE /mnt/tree
	head -c 40M /dev/urandom >/tmp/image
	# Each MiB is fsynced before the next: what the list names is durable.
	(
		for i in $(seq 0 39); do
			dd if=/tmp/image of=/mnt/image bs=1M count=1 skip="$i" seek="$i" conv=notrunc,fsync status=none || exit 1
			echo "$i" >>/tmp/durable
		done
	) >/tmp/writer.out 2>&1 &
	wait_for 60 sh -c 'test $(wc -l </tmp/durable) -ge 8'
	target_lose
	sleep 4
	target_back
	check "isertd killed in mid-write and back: the writer ends" wait_for 120 sh -c 'test $(wc -l </tmp/durable) -eq 40'
	check "no error reached it" test ! -s /tmp/writer.out
	check "the kernel saw no error" sh -c "! dmesg | sed -n '/job: --- mounted/,\$p' | grep -E 'I/O error|EXT4-fs (error|warning)'"
	check "unmount after it" umount /mnt
	check "e2fsck finds nothing" e2fsck -fn "/dev/$(device_of $LUN)"
	check "mount after it" mount_disk
	check "all that was fsynced is there" cmp /tmp/image /mnt/image
	umount /mnt
	check "logout" logout
	initiator_stop
	host_allows kernel || { target_stop && return; }
	initiator_use kernel
	node_new >/dev/null
	check "the kernel's ib_iser logs in to the same LUN" login || return
	check "mounts it" mount_disk
	check "and reads the same" sh -c "diff -r --no-dereference $TREE /mnt/tree && cmp /tmp/image /mnt/image"
	umount /mnt
	check "logout of the kernel" logout
	initiator_stop
	target_stop
}
