#!/bin/bash
# The cells on this host's own RDMA device, without a guest. Prints TAP.
#   tests/vm/host.sh BUILD LOGS DEVICE [CELLS...]   DEVICE: rxe0, mlx5_0, ...; CELLS: as check.sh has them
# Everything that is made is private (a mount namespace with its own /run, /tmp and configuration of open-iscsi; targets
# and portals of names and ports of their own), and taken away at the end. What the host uses itself is left alone: the
# cells for that are skipped, with the reason. Ends with 77, and one line, where it cannot be done; with 2 where the command
# line is wrong. Called by `make check-rdma DEVICE=...`.
set -u
here=$(cd "$(dirname "$0")" && pwd)

refuse() { # status, line
	echo "check-rdma: $2" >&2
	exit "$1"
}
known() {
	local all
	all=$(cd /sys/class/infiniband 2>/dev/null && echo *)
	case $all in
	'' | '*') echo "this host has none; \`rdma link add rxe0 type rxe netdev NETDEV\` makes one of any network device" ;;
	*) echo "this host has: $all" ;;
	esac
}
[ $# -ge 2 ] || refuse 2 "BUILD LOGS DEVICE [CELLS...] are needed"
build=$1 logs=$2 device=${3-}
shift 2
[ -n "$device" ] || refuse 2 "DEVICE= says which RDMA device; $(known)"
shift
ib=/sys/class/infiniband/$device
[ -d "$ib" ] || refuse 77 "there is no RDMA device $device; $(known)"
[ "$(id -u)" -eq 0 ] || refuse 77 "only root can register memory without limit, and make mount namespaces"
missing=""
for c in fio jq ip rdma ss unshare mkfs.ext4 fsfreeze; do command -v $c >/dev/null || missing="$missing $c"; done
[ -z "$missing" ] || refuse 77 "these programs are missing:$missing (Debian: fio jq iproute2 util-linux e2fsprogs)"
[ -x "$build/tests/vm/knock" ] || refuse 77 "$build/tests/vm/knock is not there: built without libibverbs and librdmacm?"
netdev=$(cat "$ib"/ports/1/gid_attrs/ndevs/0 2>/dev/null)
[ -n "$netdev" ] || refuse 77 "$device has no network device: addresses are needed for RDMA_CM"
address=$(ip -4 -o addr show dev "$netdev" | awk '{ sub("/.*", "", $4); print $4; exit }')
[ -n "$address" ] || refuse 77 "$netdev, the network device of $device, has no IPv4 address"

# tgt's iSER has no other port than iSCSI's.
port=3260
while ss -tln | awk '{ print $4 }' | grep -q ":$port\$" || rdma resource show cm_id 2>/dev/null | grep -q "LISTEN.*:$port "; do
	port=$((port + 1))
done
kind=rxe
[ "$(cat "$ib/node_type")" = "4: RNIC" ] && kind=siw
[ $# -gt 0 ] || set -- $(cd "$here/cells" && ls -d $kind*)

mkdir -p "$logs" && logs=$(cd "$logs" && pwd) && build=$(cd "$build" && pwd) || exit 2
job=$(mktemp -d /var/tmp/iseran-check-rdma.XXXXXX)
made="" # folders that were not there: mounted over, and taken away
clean_up() {
	for folder in $made; do rmdir "$folder" 2>/dev/null; done
	rm -rf "$job"
}
trap clean_up EXIT
for folder in /etc/iscsi /var/lib/iscsi /var/lib/iseran /etc/target; do
	[ -d $folder ] || { mkdir -p $folder && made="$made $folder"; }
done
mkdir "$job/bin" "$job/results" && cp "$here"/job/* "$job/" || exit 1
for p in isertd isertadm iserd iseradm tests/vm/knock; do cp "$build/$p" "$job/bin/" || exit 1; done
cat >"$job/settings" <<-SETTINGS
	HOST=1 DEVICE=$device NETDEV=$netdev IP=$address PORT=$port R=$job/results LOGS=$logs
	${CONNECTS:+CONNECTS=$CONNECTS}
SETTINGS

count=0 failed=0
for cells in "$@"; do
	file=$cells
	[ "${file#*/}" = "$file" ] && file=$here/cells/$cells
	[ -f "$file" ] || refuse 2 "there is no list $file"
	cp "$file" "$job/cells"
	echo "# ==== $(basename "$file")"
	while IFS= read -r line; do
		case $line in
		1..*) continue ;;
		"ok "*) count=$((count + 1)) && line="ok $count - ${line#*- }" ;;
		"not ok "*) count=$((count + 1)) failed=$((failed + 1)) && line="not ok $count - ${line#*- }" ;;
		esac
		printf '%s\n' "$line"
	done < <(unshare --mount --propagation private "$job/start_host" 2>&1)
done
echo "1..$count"
[ $failed -eq 0 ] || echo "# logs: $logs"
[ $failed -eq 0 ]
