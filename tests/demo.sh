#!/bin/bash
# `make demo`: everything from nothing, on loopback, in a folder of its own: a target with an image, discovery,
# login over iSER, a file system on the remote LUN, a copied tree, a killed and restarted target, a short
# measurement, and nothing left behind. Each step shows the command that a person would type.
#   tests/demo.sh BUILD [TREE]
set -u

bin=$(cd "$1" && pwd) || exit 2
tree=${2:-/usr/share/doc}
work=$(mktemp -d "${TMPDIR:-/tmp}/iseran-demo.XXXXXX") || exit 1
iqn=iqn.2026-11.org.iseran:demo
export ISERAN_STATE_DIR=$work/state ISERAN_RUNTIME_DIR=$work/run ISERTD_CONTROL=$work/isertd.sock
export PATH=$bin:$PATH
target_pid=""
began=$(date +%s)

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# Shows a command as a person would type it, runs it, and ends the demo if it fails.
show() {
	printf '    $ %s\n' "${*//$work\//}"
	"$@" 2>&1 | sed 's/^/      /'
	[ "${PIPESTATUS[0]}" -eq 0 ] || fail "this command failed: $*"
}
fail() {
	printf '\ndemo: %s\n' "$*" >&2
	for log in "$work"/isertd.log "$work"/run/iserd.log; do
		[ -s "$log" ] && printf -- '--- last lines of %s\n' "$log" >&2 && tail -n 15 "$log" >&2
	done
	exit 1
}

target_lives() { [ -n "$target_pid" ] && kill -0 "$target_pid" 2>/dev/null; }

# Not to be interrupted itself. Without its target a mounted file system would wait for the replacement time-out:
# then its session ends first.
# shellcheck disable=SC2317  # called by trap
clean_up() {
	trap - EXIT
	trap '' INT TERM HUP
	if ! target_lives && [ -S "$work/run/iserd.sock" ]; then
		timeout 20 iseradm -m node --logout all --force >/dev/null 2>&1
	fi
	mountpoint -q "$work/mnt" 2>/dev/null && umount -l "$work/mnt"
	if [ -S "$work/run/iserd.sock" ]; then
		timeout 20 iseradm -m node --logout all --force >/dev/null 2>&1
		timeout 10 iseradm -m daemon -o stop >/dev/null 2>&1
	fi
	target_lives && kill "$target_pid" && wait "$target_pid" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'echo; echo "demo: interrupted; cleaning up" >&2; exit 130' INT TERM HUP

start_target() { # port
	rm -f "$work/port"
	printf '    $ isertd --portal 127.0.0.1:%s --target %s --lun 0=file=disk.img &\n' "$1" "$iqn"
	# In a session of its own: Ctrl-C shall not reach it before its initiator has unmounted.
	setsid isertd --portal "127.0.0.1:$1" --target "$iqn" --lun "0=file=$work/disk.img" --port-file "$work/port" \
		>>"$work/isertd.log" 2>&1 &
	target_pid=$!
	for _ in $(seq 600); do
		[ -s "$work/port" ] && break
		kill -0 "$target_pid" 2>/dev/null || fail "isertd ended at once"
		sleep 0.05
	done
	port=$(cat "$work/port") || fail "isertd did not say its port within 30 s"
	printf '      listening on 127.0.0.1:%s, process %s\n' "$port" "$target_pid"
}

kill_target() {
	printf '    $ kill -KILL %s\n' "$target_pid"
	kill -KILL "$target_pid"
	wait "$target_pid" 2>/dev/null
	target_pid=""
}

sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum); }

bench() { # transport
	local row
	row=""
	# The large writes first: random ones into the sparse image would scatter it over the disk.
	for load in "write 1M 8" "read 1M 8" "randread 4K 1" "randread 4K 32" "randwrite 4K 32"; do
		set -- "$1" $load
		out=$(iseradm -m lun -o bench -T "$iqn" -p "127.0.0.1:$port" -I "$1" -l 0 --rw "$2" --bs "$3" --iodepth "$4" \
			--size 256M --runtime 1 --plain) || fail "the measurement failed: $out"
		row="$row$(printf '      %-5s %-9s %4s  depth %-3s %s' "$1" "$2" "$3" "$4" "$out")"$'\n'
	done
	printf '%s' "$row"
}

blocks=yes
why=""
if [ ! -c /dev/fuse ]; then
	blocks=no why="there is no /dev/fuse"
elif [ ! -e /dev/loop-control ] || [ "$(id -u)" -ne 0 ] || ! losetup -f >/dev/null 2>&1; then
	blocks=no why="loop devices cannot be used here"
fi
portal() { echo "127.0.0.1:$port"; }

mkdir -p "$work/mnt" "$work/state" "$work/run"
say "1. A disk image, 1 GiB, sparse"
show truncate -s 1G "$work/disk.img"

say "2. The target: one process, one port for iSER and iSCSI/TCP"
start_target 0

say "3. What does it export?"
show iseradm -m discovery -t sendtargets -p "$(portal)" -I iser

if [ $blocks = yes ]; then
	say "4. Log in over iSER: the LUN becomes a block device"
	show iseradm -m node -T "$iqn" -p "$(portal)" -I iser --login
	show iseradm -m session -P 3
	device=$ISERAN_RUNTIME_DIR/by-path/ip-$(portal)-iscsi-$iqn-lun-0
	[ -b "$device" ] || fail "there is no block device at $device"

	say "5. A file system on it, and a real tree ($tree) in that"
	show mkfs.ext4 -q -F -L iseran "$(readlink -f "$device")"
	show mount "$device" "$work/mnt"
	show cp -a "$tree" "$work/mnt/tree"
	sync -f "$work/mnt"
	sums "$tree" >"$work/want"
	sums "$work/mnt/tree" >"$work/have"
	cmp -s "$work/want" "$work/have" || fail "the copy differs from $tree"
	printf '      %d files, %s: every checksum is right\n' "$(wc -l <"$work/want")" "$(du -sh "$work/mnt/tree" | cut -f1)"
	show umount "$work/mnt"
	show iseradm -m node -T "$iqn" -p "$(portal)" --logout

	say "6. The target is killed, and started again"
	kill_target
	start_target "$port"
	show iseradm -m node -T "$iqn" -p "$(portal)" -I iser --login
	show mount "$device" "$work/mnt"
	sums "$work/mnt/tree" >"$work/have"
	cmp -s "$work/want" "$work/have" || fail "after the kill the tree differs from $tree"
	printf '      %d files: every checksum is right\n' "$(wc -l <"$work/have")"
	show umount "$work/mnt"
	show iseradm -m node -T "$iqn" -p "$(portal)" --logout
else
	say "4. No block device here ($why): the same work through iseradm alone"
	printf '    $ mkfs.ext4 -d %s fs.img\n' "$tree"
	truncate -s 1G "$work/fs.img"
	mkfs.ext4 -q -F -d "$tree" "$work/fs.img" || fail "mkfs.ext4 failed"
	show iseradm -m lun -o copy-in -T "$iqn" -p "$(portal)" -l 0 --file "$work/fs.img"
	show iseradm -m lun -o verify -T "$iqn" -p "$(portal)" -l 0 --file "$work/fs.img"

	say "5. The target is killed, and started again"
	kill_target
	start_target "$port"
	show iseradm -m lun -o copy-out -T "$iqn" -p "$(portal)" -l 0 --file "$work/back.img"
	cmp "$work/fs.img" "$work/back.img" || fail "what came back differs"
	show e2fsck -fn "$work/back.img"
fi

say "7. How fast, on this machine, through this file-backed LUN (1 s each; 'make bench' measures properly)"
bench iser
bench tcp

say "8. Clean up"
show iseradm -m node -T "$iqn" -o delete
clean_up
left=$(losetup -a 2>/dev/null | grep -c "$work")
[ "$left" -eq 0 ] && [ ! -e "$work" ] || { echo "demo: something was left behind at $work" >&2 && exit 1; }
printf '\ndemo: all of it worked, in %d s. Nothing was left behind.\n' $(($(date +%s) - began))
