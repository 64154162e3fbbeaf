# What the guest's stories are built from: TAP, modules, RDMA devices, processes. Sourced by main.
# shellcheck shell=bash disable=SC2016,SC2034,SC2086
set -u

R=${R:-/results}
COUNT=0
FAILED=0
STORY=""

pass() { COUNT=$((COUNT + 1)) && echo "ok $COUNT - $STORY: $*"; }
REFERENCE= # set where neither end is ours: what fails there is not held against us, only shown
fail() {
	COUNT=$((COUNT + 1))
	if [ -n "$REFERENCE" ]; then
		echo "ok $COUNT - $STORY: $* # SKIP the reference pair itself fails here"
	else
		FAILED=$((FAILED + 1)) && echo "not ok $COUNT - $STORY: $*"
	fi
}
skip() { COUNT=$((COUNT + 1)) && echo "ok $COUNT - $STORY: $1 # SKIP $2"; }
# What the peer itself cannot do, shown against the reference pair: counted as skipped, with the bug's name.
peer_bug() { skip "$1" "the peer's own: $2"; }
story() {
	STORY=$*
	echo "# --- $STORY ($(cut -d' ' -f1 /proc/uptime) s)"
	echo "job: --- $STORY" >/dev/kmsg
}
# A program gets so many seconds; a function of ours limits what it runs itself.
limited() {
	case $(type -t "$1") in
	function) "$@" ;;
	*) timeout "${LIMIT:-300}" "$@" ;;
	esac
}
took() { # what took long says how long
	[ $((SECONDS - $1)) -lt 5 ] || echo " ($((SECONDS - $1)) s)"
}
# check NAME COMMAND...: passes when the command succeeds; its output is shown when it does not.
check() {
	local name=$1 out start=$SECONDS
	shift
	if out=$(limited "$@" 2>&1); then
		pass "$name$(took "$start")"
	else
		fail "$name (status $?)"
		printf '%s\n' "$out" | tail -n 15 | sed 's/^/# /'
		return 1
	fi
}
# check_refused NAME PATTERN COMMAND...: the command fails, and says PATTERN.
check_refused() {
	local name=$1 pattern=$2 out
	shift 2
	if out=$(limited "$@" 2>&1); then
		fail "$name: it was let in"
	elif ! printf '%s\n' "$out" | grep -qiE "$pattern"; then
		fail "$name: does not say '$pattern'"
	else
		pass "$name"
		return 0
	fi
	printf '%s\n' "$out" | tail -n 8 | sed 's/^/# /'
	return 1
}
wait_for() { # SECONDS COMMAND...
	local until=$(($(date +%s%N) + $1 * 1000000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s%N)" -lt "$until" ] || return 1
		sleep 0.1
	done
}
# guest.sh -p: the CPUs that the kernel did not start by itself.
cpus_online() {
	local cpu
	for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
		[ "$(cat "$cpu")" = 1 ] || echo 1 >"$cpu"
	done
}
load_modules() {
	local m
	for m in "$@"; do modprobe "$m" || echo "# module $m is not there"; done
}

# ---- RDMA devices: one kind at a time, on a veth pair, so that nothing reaches them by loopback alone ----

IP=${IP:-192.168.99.1}
network_up() { # MTU
	[ -e /sys/class/net/d0 ] || ip link add d0 type dummy
	ip link set d0 mtu "$1" up
	ip addr replace $IP/24 dev d0
}
device_up() { # rxe|siw
	[ -z "${HOST-}" ] || { on_siw && return; } # it is there
	load_modules dummy ib_core ib_uverbs rdma_ucm
	network_up 9000
	case $1 in
	rxe) load_modules rdma_rxe ;;
	siw) load_modules libcrc32c siw ;;
	esac
	DEVICE=${1}0
	on_siw
	device_add
}
# Where the device shares TCP's ports: any iWARP one.
on_siw() {
	ON_SIW=0
	case $DEVICE in siw*) ON_SIW=1 ;; esac
	if [ -n "${HOST-}" ] && grep -q RNIC "/sys/class/infiniband/$DEVICE/node_type"; then ON_SIW=1; fi
}
# Again, after a deletion.
device_add() { rdma link add "$DEVICE" type "${DEVICE%0}" netdev d0; }
device_down() {
	rdma link delete "$DEVICE"
}
# On a developer's own host (HOST) a cell is skipped where it would touch what is the host's own, or where a program or
# module is missing: NAME_missing says why.
host_allows() { # NAME...
	local name reason
	[ -n "${HOST-}" ] || return 0
	for name in "$@"; do
		type -t "${name}_missing" >/dev/null || continue
		reason=$("${name}_missing")
		[ -z "$reason" ] || { skip "$name" "$reason" && return 1; }
	done
}
has_program() { command -v "$1" >/dev/null || echo "$1 is not installed"; }
has_module() { modprobe -nq "$1" || echo "the kernel has no module $1"; }
device_missing() { echo "the device is the host's own: it is not deleted"; }
# ends_process PID SIGNAL SECONDS: it ends within so many seconds.
end_process() {
	kill "-$2" "$1" 2>/dev/null
	wait_for "$3" sh -c "! kill -0 $1" || { kill -KILL "$1" && fail "process $1 did not end within $3 s of SIG$2"; }
	wait "$1" 2>/dev/null
}
