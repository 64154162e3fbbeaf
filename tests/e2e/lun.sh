#!/bin/bash
# `iseradm -m lun`: a LUN without a block device, over both transports: list, copies of sparse images, pipes,
# comparison, measurement; what is refused; a client and a daemon that go away in the middle.
. "$(dirname "$0")/../kit/functions.sh"

truncate -s 128M "$W/disk"
start_isertd --portal "127.0.0.1:$(free_port)" --target "$IQN" --lun "0=file=$W/disk" --lun 3=memory=16M || exit 1
lun() { iseradm -m lun -T "$IQN" -p "$PORTAL" -o "$@"; }
# Random, a hole, and an end within a block.
head -c 6M /dev/urandom >"$W/image"
truncate -s 40M "$W/image"
head -c 1000 /dev/urandom >>"$W/image"
size=$(stat -c %s "$W/image")
head -c 1M /dev/urandom >"$W/small"
sessions_are() { [ "$(isertadm sessions --json | jq '.sessions | length')" = "$1" ]; }
patterns="read randread write randwrite rw randrw"

for transport in iser tcp; do
	check_says "$transport: list, without a record" 0 '^Lun: 3.16\.0 MiB \(16777216 bytes\)' lun list -I $transport
	check "$transport: list --json" sh -c "iseradm -m lun -T $IQN -p $PORTAL -I $transport -o list --json |
		jq -e '.luns[0].size == 134217728'"
	check "$transport: copy-in" lun copy-in -I $transport -l 0 --file "$W/image"
	check "$transport: the target's file has it" cmp -n "$size" "$W/image" "$W/disk"
	check_says "$transport: verify" 0 'is the same' lun verify -I $transport -l 0 --file "$W/image"
	check "$transport: copy-out" lun copy-out -I $transport -l 0 --file "$W/back"
	check "$transport: what came back is the LUN, all of it" cmp "$W/back" "$W/disk"
	check "$transport: and is sparse" test "$(du -k "$W/back" | cut -f1)" -lt 20000
	check "$transport: from a pipe" sh -c "cat '$W/small' | iseradm -m lun -T $IQN -p $PORTAL -I $transport -l 3 -o write"
	check "$transport: into a pipe" sh -c "iseradm -m lun -T $IQN -p $PORTAL -I $transport -l 3 -o read --length 1M |
		cmp - '$W/small'"
	check "$transport: into a redirection" sh -c "iseradm -m lun -T $IQN -p $PORTAL -I $transport -l 3 -o read \
		--offset 512K --length 512K >'$W/half' && tail -c 512K '$W/small' | cmp - '$W/half'"
	lun write -I $transport -l 0 --offset 1M --length 4K --file "$W/small" >/dev/null
	check_says "$transport: verify tells the first difference" "$STATUS_FAILED" 'first difference is at byte 104857[6-9]' \
		lun verify -I $transport -l 0 --file "$W/image"
	for rw in $patterns; do
		check_says "$transport: bench $rw" 0 '^IOPS [0-9]+  MB/s [0-9]+  p50 [0-9.]+ us  p99 [0-9.]+ us$' \
			lun bench -I $transport -l 3 --rw $rw --bs 4K --iodepth 8 --runtime 1 --plain
	done
	patterns=randrw
	check "$transport: bench --json has all that was promised" sh -c "iseradm -m lun -T $IQN -p $PORTAL -I $transport -l 3 \
		-o bench --rw randrw --rwmixread 70 --bs 64K --iodepth 40 --size 8M --runtime 1 --json | jq -e \
		'.rw == \"randrw\" and .bs == 65536 and .iodepth == 40 and .ios > 0 and .iops > 0 and .mb_s > 0 and
		 .runtime_s >= 0.9 and .errors == 0 and .reads > .writes and .mean_us > 0 and .p50_us <= .p90_us and
		 .p90_us <= .p99_us and .p99_us <= .p999_us and .p999_us <= .max_us and .cpu_us_per_io > 0'"
done
check "progress where it is wanted" sh -c "iseradm -m lun -T $IQN -p $PORTAL -l 3 -o bench --runtime 2 --progress 2>&1 |
	grep -qE '^[0-9.]+ of 2\.0 s'"

# ---- refused, in one line, and nothing is touched ----
check_says "an image that is too large" "$STATUS_USAGE" 'too large.*nothing was written' lun copy-in -l 3 --file "$W/image"
check "the LUN is as it was" sh -c "iseradm -m lun -T $IQN -p $PORTAL -l 3 -o list >/dev/null"
check_says "a LUN that is not there" "$STATUS_NOT_FOUND" 'no disk at LUN 7; it has 0, 3' lun read -l 7 --file "$W/none"
check "no file is left of that" test ! -e "$W/none"
echo keep >"$W/keep"
lun copy-out -l 7 --file "$W/keep" 2>/dev/null
check "a file that was there stays" grep -q keep "$W/keep"
check_says "half a block" "$STATUS_USAGE" 'blocks of 512 bytes' lun write -l 3 --length 100 --file "$W/small"
check_says "a range beyond the end" "$STATUS_USAGE" 'beyond its end' lun read -l 3 --offset 16M --length 1M --file "$W/none"
check_says "a file that is not there" "$STATUS_USAGE" 'No such file' lun copy-in -l 3 --file "$W/nothing"
check_says "a directory" "$STATUS_USAGE" 'is a directory' lun copy-in -l 3 --file "$W"
check_says "copy-in without a file" "$STATUS_USAGE" 'needs --file' lun copy-in -l 3
check_says "no LUN" "$STATUS_USAGE" 'which LUN' lun read
check_says "too much memory" "$STATUS_USAGE" '256 MiB is the most' lun bench -l 3 --bs 16M --iodepth 64
check_says "a mistyped pattern" "$STATUS_USAGE" 'randread' lun bench -l 3 --rw randraed
check_says "a mistyped target" "$STATUS_LOGIN_FATAL" 'no such target' iseradm -m lun -T "$IQN.no" -p "$PORTAL" -l 3 -o read --file "$W/none"
check_says "nobody listens" "$STATUS_UNREACHABLE" 'connection refused' iseradm -m lun -T "$IQN" -p "127.0.0.1:$(free_port)" -o list
if have_block_devices; then
	mkdir "$W/small.fs" && mount -t tmpfs -o size=1M none "$W/small.fs" && CLEANUPS+=("umount -l '$W/small.fs'")
	check_says "a full disk here, and the file's name" "$STATUS_FAILED" 'small.fs/back: No space left' \
		lun copy-out -l 3 --file "$W/small.fs/back"
	check "nothing is left of it" test ! -e "$W/small.fs/back"
	iseradm -m discovery -t st -p "$PORTAL" >/dev/null
	iseradm -m node -T "$IQN" -p "$PORTAL" --login >/dev/null
	device=$(readlink -f "$W/run/by-path/ip-$PORTAL-iscsi-$IQN-lun-0")
	mkfs.ext4 -q -F "$device" && mount "$device" "$W/mnt"
	check_says "writing below a mounted device" "$STATUS_BUSY" 'mounted on.*--force' lun write -l 0 --file "$W/small"
	check_says "measuring writes below it" "$STATUS_BUSY" 'mounted on.*--force' lun bench -l 0 --rw randwrite --runtime 1
	check "reading below it" lun read -l 0 --length 4K --file "$W/none"
	check "unmount" umount "$W/mnt"
	check "after that it may be written" lun write -l 0 --file "$W/small"
	check "logout" iseradm -m node -T "$IQN" -p "$PORTAL" --logout
else
	skip "writing below a mounted device" "no /dev/fuse or loop devices here"
fi

# ---- somebody goes away ----
iseradm -m lun -T "$IQN" -p "$PORTAL" -l 3 -o bench --iodepth 16 --runtime 60 >/dev/null 2>&1 &
client=$!
wait_for 60 sessions_are 1
end_process $client TERM
check "the job of a client that was killed ends" wait_for 60 sessions_are 0
iseradm -m lun -T "$IQN" -p "$PORTAL" -l 3 -o bench --iodepth 16 --runtime 60 --progress >/dev/null 2>"$W/bench.err" &
client=$!
wait_for 60 grep -q 'of 60' "$W/bench.err"
end_process "$TARGET_PID" KILL
check "iserd ends though a job waits for a target that was killed" iseradm -m daemon -o stop
wait $client
check "and the client is told" grep -q 'given up' "$W/bench.err"
start_isertd --portal "$PORTAL" --target "$IQN" --lun "0=file=$W/disk" --lun 3=memory=16M
lun bench -l 3 --iodepth 4 --runtime 4 --json --progress >"$W/bench.json" 2>"$W/bench.err" &
client=$!
wait_for 60 grep -q 'of 4' "$W/bench.err"
end_process "$TARGET_PID" KILL
start_isertd --portal "$PORTAL" --target "$IQN" --lun "0=file=$W/disk" --lun 3=memory=16M
check_wait "a measurement goes through a restart of the target" $client "$W/bench.err"
check "without an error" jq -e '.errors == 0' "$W/bench.json"
