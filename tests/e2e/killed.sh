#!/bin/bash
# SIGKILL of either side in mid-write. The target under a mounted file system: no error reaches it, and every
# block that was acknowledged is there. The initiator: the target goes on, and what was flushed is there.
. "$(dirname "$0")/../kit/functions.sh"

truncate -s 512M "$W/disk"
port=$(free_port)
start_isertd --portal "127.0.0.1:$port" --target "$IQN" --lun "0=file=$W/disk" || exit 1

# write_blocks DEVICE COUNT: numbered 4 KiB blocks, each durable before it is noted in $W/noted.
cat >"$W/writer.py" <<'P'
import mmap, os, sys
device, count, noted = sys.argv[1], int(sys.argv[2]), sys.argv[3]
fd = os.open(device, os.O_RDWR | os.O_DIRECT | os.O_DSYNC)
page = mmap.mmap(-1, 4096)
with open(noted, "w") as out:
    for n in range(count):
        page[:] = (b"%015d\n" % n) * 256
        os.pwritev(fd, [page], n * 4096)
        out.write("%d\n" % n)
        out.flush()
P
cat >"$W/reader.py" <<'P'
import sys
path, noted = sys.argv[1], sys.argv[2]
bad = 0
last = [int(l) for l in open(noted) if l.endswith("\n")]
with open(path, "rb") as f:
    for n in last:
        f.seek(n * 4096)
        bad += f.read(4096) != (b"%015d\n" % n) * 256
print("%d blocks were acknowledged, %d are wrong" % (len(last), bad))
sys.exit(bad != 0 or not last)
P

have_block_devices || skip_all "no /dev/fuse or loop devices here"
mkdir "$W/tree"
(cd "$W/tree" && head -c 32M /dev/urandom | split -b 20000 -a 4 -)
for transport in iser tcp; do
	iseradm -m discovery -t st -p "127.0.0.1:$port" -I $transport >/dev/null
	check "login over $transport" iseradm -m node -T "$IQN" -p "127.0.0.1:$port" -I $transport --login
	device=$(readlink -f "$W/run/by-path/ip-127.0.0.1:$port-iscsi-$IQN-lun-0")

	python3 "$W/writer.py" "$device" 4000 "$W/noted" 2>"$W/writer.err" &
	writer=$!
	for round in 1 2 3; do
		sleep 0.4
		end_process "$TARGET_PID" KILL
		sleep 0.2
		start_isertd --portal "127.0.0.1:$port" --target "$IQN" --lun "0=file=$W/disk"
	done
	check_wait "$transport: the writer saw no error while the target was killed $round times" $writer "$W/writer.err"
	check "$transport: every acknowledged block is in the target's file" python3 "$W/reader.py" "$W/disk" "$W/noted"

	mkfs.ext4 -q -F "$device" && mount "$device" "$W/mnt"
	(cp -a "$W/tree" "$W/mnt/" && sync -f "$W/mnt") 2>"$W/cp.err" &
	copier=$!
	sleep 0.5
	end_process "$TARGET_PID" KILL
	sleep 1
	start_isertd --portal "127.0.0.1:$port" --target "$IQN" --lun "0=file=$W/disk"
	check_wait "$transport: a copy onto the mounted file system goes through a kill without error" $copier "$W/cp.err"
	check "$transport: the copy is right" diff -r "$W/tree" "$W/mnt/tree"
	check "$transport: unmount" umount "$W/mnt"
	check "$transport: e2fsck finds the file system clean" e2fsck -fn "$device"
	check "$transport: logout" iseradm -m node -T "$IQN" -p "127.0.0.1:$port" --logout
done

# The initiator is killed: what it had acknowledged stays, and a new one takes over.
check "iserd that iseradm had started ends when it is told to" iseradm -m daemon -o stop
iserd --state-dir "$W/state" --runtime-dir "$W/run" >>"$W/iserd.log" 2>&1 &
daemon=$!
PIDS+=("$daemon")
wait_for 60 test -S "$W/run/iserd.sock"
check "login from an iserd of our own" iseradm -m node -T "$IQN" -p "127.0.0.1:$port" -I iser --login
device=$(readlink -f "$W/run/by-path/ip-127.0.0.1:$port-iscsi-$IQN-lun-0")
rm -f "$W/noted"
python3 "$W/writer.py" "$device" 100000 "$W/noted" 2>"$W/writer.err" &
writer=$!
wait_for 60 sh -c "[ \"\$(wc -l <'$W/noted')\" -ge 50 ]"
end_process $daemon KILL
wait_for 60 sh -c "! kill -0 $writer" || kill -KILL $writer
wait $writer 2>/dev/null
check "iserd killed: every acknowledged block is in the target's file" python3 "$W/reader.py" "$W/disk" "$W/noted"
check "a new iserd cleans up and logs in" iseradm -m node -T "$IQN" -p "127.0.0.1:$port" -I iser --login
device=$(readlink -f "$W/run/by-path/ip-127.0.0.1:$port-iscsi-$IQN-lun-0")
check "and its device shows them" python3 "$W/reader.py" "$device" "$W/noted"
check "logout" iseradm -m node -T "$IQN" -p "127.0.0.1:$port" --logout
check "no loop device is left" sh -c "! losetup -a | grep -q $W"
