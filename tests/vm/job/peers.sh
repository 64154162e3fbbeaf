# What a real initiator never sends, and what nobody sees who connects once: odd connection requests, a thousand of them,
# too little memory that may be locked, the choice of a provider. Sourced by main.
#   cell_requests    private data of all kinds; a peer that serves no RDMA Reads
#   cell_many COUNT  so many connections; descriptors, objects of the device and memory are what they were before
#   cell_provider    which provider -I iser takes, and what -m session -P 3 says of it
#   cell_memlock     a limit of locked memory that is too small
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

knocks() { timeout 900 knock "$@" $IP $PORT; }
knock_says() { knocks "${@:2}" | grep -E "$1"; }

cell_requests() {
	story "connection requests on $DEVICE"
	target_start isertd none || return
	log_mark
	check "no private data: accepted, with iSER's four bytes" knock_says '^accepted, private data [0-9a-f]{8}$'
	check "four bytes" knock_says '^accepted' -p 00000000
	check "four bytes with every flag" knock_says '^accepted' -p ff000000
	check "as long as it can be" knock_says '^accepted' -p "$(printf '%0112d' 0 | tr 0 a)"
	check "a peer that serves no RDMA Reads is rejected" knock_says '^rejected, reason 28' -r 0
	check "and the log says why" log_says 'rejected: it serves no RDMA Reads'
	check "a port on which nobody listens" sh -c "knock $IP $((PORT + 739)) | grep '^rejected, reason 8'"
	check "one Read at a time is enough" knock_says '^accepted' -r 1
	target_stop
}

# name, value: descriptors and resident KiB of both daemons, objects of the device, KiB of the kernel's own
daemons() { echo "isertd:$TARGET iserd:$(cat /run/iseran/iserd.pid)"; }
usage_of() {
	local d objects
	for d in $(daemons); do
		echo "${d%:*}-descriptors $(find "/proc/${d#*:}/fd" -mindepth 1 | wc -l)"
		echo "${d%:*}-KiB $(awk '/^VmRSS/ { print $2 }' "/proc/${d#*:}/status")"
	done
	objects=$(rdma resource show "$DEVICE" | sed 's/^[^:]*: *[^:]*: *//')
	set -- $objects
	while [ $# -ge 2 ]; do
		echo "$1 $2"
		shift 2
	done
	echo "kernel-KiB $(awk '/^SUnreclaim/ { print $2 }' /proc/meminfo)"
}
# Memory may differ by so many KiB (allocators keep some, a huge page is 2 MiB; 3 KiB of each of more than two thousand
# connections would be seen, and so would their memory windows, of which the kernel has 25 MiB per thousand);
# everything else not at all.
usage_compare() { # before, after
	join -a 1 -a 2 -e - -o 0,1.2,2.2 <(sort "$1") <(sort "$2") | awk '
		$1 ~ /KiB/ { limit = $1 ~ /kernel/ ? 12288 : 6144 }
		$1 !~ /KiB/ { limit = 0 }
		{ print; if ($3 - $2 > limit || (limit == 0 && $2 != $3)) bad = 1 }
		END { exit bad }'
}
repeat() { # COUNT COMMAND...
	local i n=$1
	shift
	for ((i = 1; i <= n; i++)); do
		"$@" >/tmp/repeat.out 2>&1 || { echo "number $i:" && cat /tmp/repeat.out && return 1; }
	done
}
discover() { adm -m discovery -t st -p $PORTAL -I iser; }
session_once() { login && logout; }
many() { # COUNT
	check "$1 connections, each disconnected" knock_says '^accepted' -n "$1"
	check "$1 connections, each left without a word" knock_says '^accepted' -a -n "$1"
	check "$(($1 / 8)) discoveries" repeat $(($1 / 8)) discover
	check "$(($1 / 8)) sessions without a device" repeat $(($1 / 8)) lun -o list
	check "$(($1 / 40)) logins and logouts" repeat $(($1 / 40)) session_once
}
cell_many() { # COUNT
	story "many connections on $DEVICE"
	initiator_use iserd
	target_start isertd none || return
	node_new >/dev/null
	# What is made once, and kept, is there before it is counted.
	many 160
	sleep 3
	usage_of >/tmp/before
	many "${CONNECTS:-$1}"
	[ -z "${CONNECTS-}" ] || check "$CONNECTS logins and logouts" repeat "$CONNECTS" session_once
	sleep 3
	usage_of >/tmp/after
	check "descriptors, objects of $DEVICE and memory are as before" usage_compare /tmp/before /tmp/after
	usage_compare /tmp/before /tmp/after | sed 's/^/# /'
	initiator_stop
	target_stop
}

provider_story() { # NAME, options of login, patterns
	node_new >/dev/null
	check "$1" node -I iser --login $2
	shift 2
	check "-P 3 says so" session_says "$@" || sed 's/^/# /' $P3
	logout >/dev/null
}
cell_provider() {
	story "the choice of a provider on $DEVICE"
	KIND=isertd LUN=0
	target_start isertd none || return
	isertd_stop
	sed -i "s/^portals:.*/portals: [\"$PORTAL\", \"127.0.0.1:$PORT\"]/" /tmp/isertd.yaml
	isertd_back
	initiator_use iserd
	provider_story "a device routes there: verbs" "" 'iser \(verbs\)' \
		"$DEVICE, MTU [0-9]+, depth [0-9]+/[0-9]+, reads [0-9]+/[0-9]+, keys by window" 'Sent: [1-9][0-9]* PDUs, [1-9]' \
		'Received: [1-9][0-9]* PDUs, [1-9]'
	provider_story "software iWARP where it is asked for" "--provider softiwarp" 'iser \(softiwarp\)' 'Sent: [1-9]'
	provider_story "verbs where they are asked for" "--provider verbs" 'iser \(verbs\)' "$DEVICE, MTU"
	PORTAL=127.0.0.1:$PORT
	provider_story "no device routes there: software iWARP" "" 'iser \(softiwarp\)'
	node_new >/dev/null
	check_refused "verbs where no device routes" 'RDMA device|route' node -I iser --login --provider verbs
	PORTAL=$IP:$PORT
	initiator_stop
	iserd --windows off >/tmp/iserd.out 2>&1 &
	wait_for 30 iseradm -m daemon
	provider_story "memory windows turned off" "" 'iser \(verbs\)' 'plain keys'
	initiator_stop
	target_stop
}

# Root may lock all that it wants, unless it gives that up. In the background only: it becomes the program.
as_anybody() {
	ulimit -l 512
	exec setpriv --bounding-set -ipc_lock "$@"
}
memlock_told() { # FILE
	test "$(grep -c 'needs them locked' "$1")" -eq 1 && grep -E "registering [0-9]+ KiB of memory needs them locked, and the limit is 512 KiB: set LimitMEMLOCK=infinity in the systemd unit" "$1"
}
cell_memlock() {
	story "little memory may be locked, $DEVICE"
	initiator_use iserd
	target_start isertd none || return
	node_new >/dev/null
	initiator_stop
	as_anybody iserd >/tmp/iserd.out 2>&1 &
	wait_for 30 iseradm -m daemon
	check_refused "iserd cannot use the device, and says so" 'may be locked' login
	check "one line in its log has need, limit and the remedy" memlock_told /tmp/iserd.out
	check "software iWARP works all the same" node -I iser --login --provider softiwarp
	logout >/dev/null
	initiator_stop
	target_stop
	as_anybody isertd --config /tmp/isertd.yaml --port-file /tmp/port.2 >/tmp/isertd.out 2>&1 &
	TARGET=$!
	wait_for 30 test -s /tmp/port.2
	node_new >/dev/null
	check_refused "isertd cannot use the device" 'reject|refused|closed' login
	check "one line of isertd has need, limit and the remedy" memlock_told /tmp/isertd.out
	check "its software iWARP works all the same" node -I iser --login --provider softiwarp
	logout >/dev/null
	initiator_stop
	target_stop
}
