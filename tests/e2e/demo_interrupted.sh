#!/bin/bash
# `make demo` is interrupted by Ctrl-C in the midst of its steps: it ends soon, and leaves no mount, loop device,
# process or file. Ctrl-C reaches every process of the terminal's group, as here.
. "$(dirname "$0")/../kit/functions.sh"

have_block_devices || skip_all "no /dev/fuse or loop devices here"
export TMPDIR=$W # mktemp of the demo
# interrupt NAME PATTERN SIGNAL: when the demo has said PATTERN.
interrupt() {
	local name=$1 pattern=$2 pid rc
	set -m # a process group of its own, which heeds SIGINT
	"$ROOT/tests/demo.sh" "$BIN" "$W/tree" >"$W/demo.out" 2>&1 &
	pid=$!
	set +m
	wait_for 200 grep -aq -e "$pattern" "$W/demo.out" || fail "$name: the demo comes that far"
	sleep 0.1
	kill "-$3" -- "-$pid"
	wait_for 200 sh -c "! kill -0 -- $pid" || fail "$name: the demo ends"
	wait "$pid"
	rc=$?
	check "$name: the exit status tells" test $rc -eq 130
	check "$name: no file is left" sh -c "! ls -d $W/iseran-demo.*"
	check "$name: no loop device is left" sh -c "! losetup -a | grep -F $W/iseran-demo"
	check "$name: no mount is left" sh -c "! grep -F $W/iseran-demo /proc/mounts"
	check "$name: no process is left" sh -c "! ps ax -o args | grep -F $W/iseran-demo | grep -v grep"
}
mkdir "$W/tree" && head -c 30M /dev/urandom | split -b 200k - "$W/tree/f"
interrupt "at the login" '--login$' INT
interrupt "while a file system is made" 'mkfs.ext4' INT
interrupt "while a tree is copied" 'cp -a' INT
interrupt "while it is unmounted" 'umount' INT
interrupt "when the target is killed" 'kill -KILL' INT
interrupt "in the measurement, by SIGTERM" 'randread' TERM
