#!/bin/bash
# System calls of both daemons fail, one kind at a time, as strace injects it: a start that cannot be is one line with
# its reason; what goes on loses nothing that was acknowledged, and says what was lost.
. "$(dirname "$0")/../kit/functions.sh"
require strace
strace -D -f -qq -o "$W/probe" -e trace=getppid -e inject=getppid:error=EPERM sh -c 'exit 0' 2>"$W/probe.err" ||
	skip_all "strace cannot trace here: $(tail -n 1 "$W/probe.err")"
# LeakSanitizer does not work under another tracer.
export ASAN_OPTIONS=detect_leaks=0:exitcode=99

# The programs by their names, with $INJECTED ("isertd" or "iserd") under strace: call, error and number of $FAULT,
# and what else strace shall look for ($ONLY, as -P PATH).
mkdir "$W/bin"
for program in isertd iserd; do
	cat >"$W/bin/$program" <<-S
		#!/bin/sh
		[ "\$INJECTED" = $program ] || exec "$BIN/$program" "\$@"
		exec strace -D -f -qq -o "$W/trace" \$ONLY -e "trace=\${FAULT%%:*}" -e "inject=\$FAULT" "$BIN/$program" "\$@"
	S
	chmod +x "$W/bin/$program"
done
PATH=$W/bin:$PATH
export INJECTED="" FAULT="" ONLY=""
head -c 3M /dev/urandom >"$W/data"
truncate -s 64M "$W/disk"
cat >"$W/threads.yaml" <<Y
portals: ["127.0.0.1:0"]
loops: 1
targets:
  - {name: $IQN, luns: [{lun: 0, path: "$W/disk", engine: threads}]}
Y

fell() { wait_for 20 grep -q INJECTED "$W/trace"; }

# ---- a start that cannot be ----
export INJECTED=isertd
while read -r FAULT status text; do
	check_says "isertd: $FAULT" "$status" "$text" \
		timeout 60 isertd --portal 127.0.0.1:0 --target "$IQN" --lun "0=file=$W/disk" --port-file "$W/no.port"
done <<R
epoll_create1:error=EMFILE:when=1 1 cannot make its loop: Too many open files
eventfd2:error=EMFILE:when=2 1 Too many open files
epoll_ctl:error=ENOSPC:when=2 1 No space left
signalfd4:error=ENOMEM:when=1 1 cannot make its loop: Cannot allocate memory
socket:error=EMFILE:when=1 1 control socket .*: Too many open files
socket:error=ENFILE:when=2 1 portal 127.0.0.1:0: Too many open files
bind:error=EACCES:when=2 1 portal 127.0.0.1:0: .*ermi
listen:error=EADDRINUSE:when=2 1 portal 127.0.0.1:0: .*in use
flock:error=ENOMEM:when=1 2 LUN 0: .*Cannot allocate memory
clone3:error=EAGAIN:when=1 1 cannot start a thread: Resource temporarily unavailable
R
export ONLY="-P $W/disk"
FAULT=openat:error=EIO:when=1
check_says "isertd: its image cannot be opened" 2 'LUN 0: .*Input/output error' \
	timeout 60 isertd --portal 127.0.0.1:0 --target "$IQN" --lun "0=file=$W/disk" --port-file "$W/no.port"
export INJECTED=iserd ONLY=""
while read -r FAULT status text; do
	check_says "iserd: $FAULT" "$status" "$text" timeout 60 iserd
done <<R
epoll_create1:error=EMFILE:when=1 1 Too many open files
socket:error=EMFILE:when=1 1 Too many open files
bind:error=ENOSPC:when=1 1 No space left
R
export INJECTED=""

# ---- under load ----
# copies TRANSPORT: what is written is what the target's file has, and what is read.
copies() {
	iseradm -m lun -o copy-in -T "$IQN" -p "$PORTAL" -I "$1" -l 0 --file "$W/data" &&
		cmp -n 3145728 "$W/data" "$W/disk" &&
		iseradm -m lun -o verify -T "$IQN" -p "$PORTAL" -I "$1" -l 0 --file "$W/data"
}
target=(--portal 127.0.0.1:0 --target "$IQN" --lun "0=file=$W/disk" --loops 1)
threads=(--config "$W/threads.yaml")
fresh() { rm -f "$W/disk" "$W/trace" && truncate -s 64M "$W/disk"; }
# goes_on TRANSPORT FAULT ARGS of isertd...
goes_on() {
	local transport=$1
	FAULT=$2
	shift 2
	fresh
	INJECTED=isertd start_isertd "$@" || return
	check "isertd: $FAULT over $transport costs nothing" copies "$transport"
	end_process "$TARGET_PID" TERM
	check "and isertd ends in order" test $? -eq 0
	check "it was reached" fell
}
while read -r transport fault; do
	goes_on "$transport" "$fault" "${target[@]}"
done <<R
iser recvmsg:error=EINTR:when=1+2
tcp sendmsg:error=EAGAIN:when=2+2
tcp sendmsg:error=ENOBUFS:when=9
iser recvmsg:error=ENOMEM:when=9
iser epoll_pwait2:error=EINTR:when=1+2
tcp io_uring_enter:error=EAGAIN:when=1+2
tcp accept4:error=EMFILE:when=2
R
goes_on tcp pwritev2:error=EINTR:when=1+2 "${threads[@]}"

reads() { iseradm -m lun -o read -T "$IQN" -p "$PORTAL" -l 0 --length 1M --file "$W/back" && cmp -n 1048576 "$W/disk" "$W/back"; }
# told FAULT PATTERN: a store that fails is told to who writes. strace counts for each of its threads, and what
# was not flushed is never called durable again: after that it is read.
told() {
	FAULT=$1
	fresh
	INJECTED=isertd start_isertd "${threads[@]}" || return
	check_says "isertd: $1 is told" "$STATUS_FAILED" "$2" \
		iseradm -m lun -o copy-in -T "$IQN" -p "$PORTAL" -l 0 --file "$W/data"
	check "and isertd goes on" reads
	end_process "$TARGET_PID" TERM
	check "to its end in order" test $? -eq 0
	check "it was reached" fell
}
told pwritev2:error=ENOSPC:when=1 'space'
told pwritev2:error=EINTR:when=1+ 'writing'
told fdatasync:error=EIO:when=1 'flushing its cache'

# ---- the block device ----
have_block_devices || {
	skip "iserd's block device goes on" "no /dev/fuse or loop devices here"
	exit "$FAILED"
}
# device FAULT [ONLY]: a file system is made on it, and what was written is read.
device() {
	local link
	FAULT=$1
	export ONLY=${2-}
	INJECTED=iserd iserd >>"$W/iserd.log" 2>&1 &
	daemon=$!
	PIDS+=("$daemon")
	wait_for 60 test -S "$W/run/iserd.sock"
	check "iserd: $FAULT: login" iseradm -m node -T "$IQN" -p "$PORTAL" -I iser --login
	link=$W/run/by-path/ip-$PORTAL-iscsi-$IQN-lun-0
	check "what is written to the device is there" sh -c "dd if='$W/data' of='$link' bs=64k oflag=direct conv=fsync &&
		cmp -n 3145728 '$W/data' '$W/disk' && dd if='$link' bs=64k count=48 iflag=direct | cmp - '$W/data'"
	check "logout" iseradm -m node -T "$IQN" -p "$PORTAL" --logout
	iseradm -m daemon -o stop
	wait "$daemon"
	check "and iserd ends in order" test $? -eq 0
	check "it was reached" fell
}
iseradm -m daemon -o stop >/dev/null 2>&1
fresh
start_isertd "${target[@]}" || exit 1
iseradm -m node -T "$IQN" -p "$PORTAL" -o new >/dev/null
iseradm -m daemon -o stop >/dev/null 2>&1
device read:error=EIO:when=6 "-P /dev/fuse"
device writev:error=ENOMEM:when=6+3 "-P /dev/fuse"
device recvmsg:error=ENOMEM:when=9
device sendmsg:error=EAGAIN:when=2+2
