# What the shell stories of tests/e2e and tests/peers are built from. Source it:
#   . "$(dirname "$0")/../kit/functions.sh"
# It makes a scratch folder $W, private state and runtime directories, and removes all of it (processes, mounts,
# loop devices, files) at the end, however the script ends. Results are TAP lines: pass, fail, or skip.
# shellcheck shell=bash
set -u

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VARIANT=${VARIANT:-release}
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
BIN=$BUILD/$VARIANT
export PATH=$BIN:$PATH
export ASAN_OPTIONS=detect_leaks=1:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1
IQN=iqn.2026-11.org.iseran:test
# What iseradm ends with, by name ($STATUS_USAGE ...): the program's own table.
eval "$(sed -nE 's/^\tROW\((STATUS_[A-Z_]+), ([0-9]+),.*/\1=\2/p' "$ROOT/initiator/status.h")"

W=$(mktemp -d "/tmp/iseran-test.XXXXXX") || exit 1
export ISERAN_STATE_DIR=$W/state ISERAN_RUNTIME_DIR=$W/run ISERTD_CONTROL=$W/isertd.sock
mkdir -p "$W/state" "$W/run" "$W/mnt"
PIDS=()
CLEANUPS=()
FAILED=0
COUNT=0

pass() { COUNT=$((COUNT + 1)) && echo "ok $COUNT - $*"; }
fail() { COUNT=$((COUNT + 1)) && FAILED=1 && echo "not ok $COUNT - $*"; }
skip() { COUNT=$((COUNT + 1)) && echo "ok $COUNT - $1 # SKIP $2"; }
# Ends the whole script as skipped.
skip_all() { echo "$*" && exit 77; }
# check NAME COMMAND...: passes when the command succeeds; its output is shown when it does not.
check() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		pass "$name"
	else
		fail "$name"
		printf '%s\n' "$out" | tail -n 25 | sed 's/^/# /'
	fi
}
# check_wait NAME PID [FILE]: waits for a process of this shell; passes when it ended well; else shows FILE.
check_wait() {
	if wait "$2"; then
		pass "$1"
	else
		fail "$1"
		[ -z "${3-}" ] || tail -n 25 "$3" | sed 's/^/# /'
	fi
}
# check_says NAME STATUS PATTERN COMMAND...: the command ends with STATUS and says PATTERN (an extended regular
# expression), in exactly one line on stderr when STATUS is not 0.
check_says() {
	local name=$1 status=$2 pattern=$3 rc
	shift 3
	"$@" >"$W/says.out" 2>"$W/says.err"
	rc=$?
	if [ "$rc" -ne "$status" ]; then
		fail "$name"
		echo "# exit status $rc, not $status"
	elif ! cat "$W/says.err" "$W/says.out" | grep -qE "$pattern"; then
		fail "$name"
		echo "# does not say '$pattern'"
	elif [ "$status" -ne 0 ] && [ "$(wc -l <"$W/says.err")" -ne 1 ]; then
		fail "$name"
		echo "# not one line:"
	else
		pass "$name"
		return 0
	fi
	sed 's/^/# /' "$W/says.err" "$W/says.out" | head -n 20
	return 1
}
require() {
	local c
	for c in "$@"; do
		command -v "$c" >/dev/null || skip_all "$c is not installed"
	done
}
have_block_devices() {
	[ -c /dev/fuse ] && [ -e /dev/loop-control ] && [ "$(id -u)" -eq 0 ] && losetup -f >/dev/null 2>&1
}
# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local until
	until=$(($(date +%s%N) + $1 * 1000000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s%N)" -lt "$until" ] || return 1
		sleep 0.05
	done
}
# One that nobody listens on now, and that no connection is given as its own: below the ports that the kernel
# gives away, so that it is still free when a target that was killed comes back.
free_port() {
	python3 - <<-'P'
		import random, socket
		first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
		for port in random.sample(range(5000, max(first, 6000)), 100):
		    try:
		        socket.socket().bind(("127.0.0.1", port))
		        print(port)
		        break
		    except OSError:
		        pass
	P
}

# start_isertd ARGS...: in the background; sets TARGET_PID, PORT and PORTAL. Its log is $W/isertd.log.
start_isertd() {
	rm -f "$W/port"
	# In a session of its own: Ctrl-C shall not reach it before its initiator has unmounted.
	setsid isertd "$@" --port-file "$W/port" >>"$W/isertd.log" 2>&1 &
	TARGET_PID=$!
	PIDS+=("$TARGET_PID")
	wait_for 60 sh -c "test -s '$W/port' || ! kill -0 $TARGET_PID"
	if [ ! -s "$W/port" ]; then
		echo "# isertd did not start:"
		tail -n 20 "$W/isertd.log" | sed 's/^/# /'
		return 1
	fi
	PORT=$(head -n 1 "$W/port")
	PORTAL=127.0.0.1:$PORT
}
# end_process PID SIGNAL: and waits for it; its exit status is returned.
end_process() {
	kill -"$2" "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}
start_tgtd() { # control port number, portal port: sets TGTD_PID
	mkdir -p /run/tgtd
	tgtd -f -C "$1" --iscsi "portal=127.0.0.1:$2" >"$W/tgtd.log" 2>&1 &
	TGTD_PID=$!
	CLEANUPS+=("kill -KILL $TGTD_PID; wait $TGTD_PID") # it does not heed SIGTERM
	wait_for 30 tgtadm -C "$1" --lld iscsi --op show --mode sys
}

# shellcheck disable=SC2317
finish() {
	local status=$? i log
	trap - EXIT
	trap '' INT TERM
	for ((i = ${#CLEANUPS[@]} - 1; i >= 0; i--)); do
		eval "${CLEANUPS[i]}" >/dev/null 2>&1
	done
	# Without its target a mounted file system would wait for the replacement time-out.
	if mountpoint -q "$W/mnt"; then
		kill -0 "${TARGET_PID-0}" || timeout 30 iseradm -m node --logout all --force
		umount -l "$W/mnt"
	fi >/dev/null 2>&1
	if [ -S "$W/run/iserd.sock" ]; then
		timeout 30 iseradm -m node --logout all --force >/dev/null 2>&1
		timeout 20 iseradm -m daemon -o stop >/dev/null 2>&1
	fi
	for i in "${PIDS[@]}"; do
		kill -TERM "$i" 2>/dev/null
	done
	for i in "${PIDS[@]}"; do
		wait_for 10 sh -c "! kill -0 $i" || kill -KILL "$i" 2>/dev/null
		wait "$i" 2>/dev/null
	done
	for log in "$W"/isertd.log "$W"/run/iserd.log "$W"/iserd.log; do
		if grep -qE 'AddressSanitizer|LeakSanitizer|runtime error:' "$log" 2>/dev/null; then
			fail "the sanitizers found nothing in $(basename "$log")"
			grep -A 30 -E 'AddressSanitizer|LeakSanitizer|runtime error:' "$log" | head -n 60 | sed 's/^/# /'
		fi
	done
	if [ "$FAILED" -ne 0 ]; then
		for log in "$W"/isertd.log "$W"/run/iserd.log; do
			[ -s "$log" ] && echo "# --- $log" && tail -n 30 "$log" | sed 's/^/# /'
		done
	fi
	rm -rf --one-file-system "$W"
	[ $status -eq 77 ] && exit 77
	exit "$FAILED"
}
trap finish EXIT
trap 'exit 130' INT TERM
