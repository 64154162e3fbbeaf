#!/bin/bash
# The first session of a newcomer, over iSER and over TCP: discovery, records, login, the session in all its
# detail, a block device with a file system, rescan, logout.
. "$(dirname "$0")/../kit/functions.sh"

truncate -s 256M "$W/disk"
start_isertd --portal 127.0.0.1:0 --target "$IQN" --lun "0=file=$W/disk" --lun 3=memory=16M || exit 1
name=ip-$PORTAL-iscsi-$IQN-lun

check_says "discovery prints portal,tpgt target" 0 "^$PORTAL,1 $IQN\$" iseradm -m discovery -t sendtargets -p "$PORTAL"
check_says "discovery in JSON" 0 '"target"' iseradm -m discovery -t st -p "$PORTAL" --json
check_says "the records are listed" 0 "^$PORTAL,1 $IQN\$" iseradm -m node
check_says "a record is shown as name = value" 0 '^node\.session\.timeo\.replacement_timeout = [0-9]+' \
	iseradm -m node -T "$IQN" -p "$PORTAL"
check_says "no session yet" "$STATUS_NOT_FOUND" 'No active sessions' iseradm -m session

for transport in iser tcp; do
	check_says "login over $transport" 0 'successful' iseradm -m node -T "$IQN" -p "$PORTAL" -I $transport --login
	check_says "$transport: a second login is refused: there already" "$STATUS_EXISTS" 'already|exists' \
		iseradm -m node -T "$IQN" -p "$PORTAL" -I $transport --login
	check_says "$transport: session list" 0 "^$transport: \[[0-9]+\] $PORTAL,1 $IQN" iseradm -m session
	for level in 0 1 2 3; do
		check_says "$transport: session -P $level" 0 "$IQN" iseradm -m session -P $level
	done
	check_says "$transport: -P 3 shows both LUNs" 0 'Lun: 3' iseradm -m session -P 3
	check "$transport: session --json is JSON with two LUNs" sh -c \
		"iseradm -m session --json | jq -e '.sessions[0].luns | length == 2'"
	check "$transport: rescan" iseradm -m session --rescan
	if have_block_devices; then
		device=$(readlink -f "$W/run/by-path/$name-0")
		check "$transport: the link by-path leads to a block device of 256 MiB" \
			test "$(blockdev --getsize64 "$device")" = 268435456
		losetup -d "$device"
		wait_for 5 sh -c "! losetup -a | grep -q '$W/run/devices/.*-lun-0'"
		check "$transport: rescan, after somebody has detached the device" iseradm -m session --rescan
		device=$(readlink -f "$W/run/by-path/$name-0")
		check "$transport: there is a device again" test "$(blockdev --getsize64 "$device")" = 268435456
		check "$transport: mkfs.ext4" mkfs.ext4 -q -F "$device"
		check "$transport: mount" mount "$device" "$W/mnt"
		cp -a "$ROOT/common" "$W/mnt/"
		check "$transport: what was copied is there" diff -r --no-dereference "$ROOT/common" "$W/mnt/common"
		check_says "$transport: logout while it is mounted is refused, and says why" "$STATUS_BUSY" 'in use|busy|mounted' \
			iseradm -m node -T "$IQN" -p "$PORTAL" --logout
		check "$transport: fstrim reaches the target" fstrim "$W/mnt"
		check "$transport: unmount" umount "$W/mnt"
		check "$transport: blkdiscard" blkdiscard -o 0 -l 64M "$device"
		check "$transport: blkdiscard --zeroout" blkdiscard -z -o 64M -l 16M "$device"
	else
		skip "$transport: block device" "no /dev/fuse or loop devices here"
	fi
	check_says "logout over $transport" 0 'successful' iseradm -m node -T "$IQN" -p "$PORTAL" --logout
	check "$transport: no link is left" test ! -e "$W/run/by-path/$name-0"
	check "$transport: no loop device is left" sh -c "! losetup -a | grep -q $W"
done
check "the record can be deleted" iseradm -m node -T "$IQN" -o delete
check_says "and is gone" "$STATUS_NOT_FOUND" 'No records found' iseradm -m node
end_process "$TARGET_PID" TERM
check "isertd ends with 0 on SIGTERM" test $? -eq 0
