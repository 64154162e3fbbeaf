# What happens to an RDMA device under a running isertd and iserd: it goes, comes late, loses its link; and two kinds of
# it in one host. Sourced by main.
#   cell_device      the link is deleted under load and made again; down and up; isertd that is there before the device
#   cell_wildcard    one portal for all addresses, on rxe and siw
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

# What isertd has said since the mark.
log_mark() { LOG_MARK=$(wc -l <$R/isertd.log); }
log_says() { tail -n +$((LOG_MARK + 1)) $R/isertd.log | grep -qE "$1"; }
listens() { log_says "listening on $PORTAL for RDMA, $DEVICE"; }
P3=/tmp/session
session_says() { # PATTERN...
	local p
	adm -m session -P 3 >$P3 2>&1
	for p in "$@"; do grep -qE "$p" $P3 || return 1; done
}

# Random writes, read back and compared, for as long as something happens to what they go over.
load_start() { # MiB
	fio --name=load --filename="/dev/$(device_of 0)" --direct=1 --ioengine=libaio --iodepth=16 --rw=randwrite --bs=16k \
		--size="$1m" --verify=crc32c --verify_fatal=1 --minimal --output=/tmp/load.out >/tmp/load.err 2>&1 &
	LOAD=$!
	sleep 3
}
load_check() { # NAME
	if wait_for 200 sh -c "! kill -0 $LOAD 2>/dev/null" && wait $LOAD; then
		pass "$1"
	else
		fail "$1"
		tail -n 8 /tmp/load.err | sed 's/^/# /'
	fi
}

# Those beside, of the same isertd, over TCP and software iWARP: each a measurement whose end says whether it was
# disturbed.
BYSTANDERS="tcp softiwarp"
bystanders_start() { # seconds
	local how options
	for how in $BYSTANDERS; do
		options="-I tcp"
		[ $how = softiwarp ] && options="-I iser --provider softiwarp"
		(
			timeout 200 iseradm -m lun -T $IQN -p $PORTAL -l 2 $options -o bench --rw randrw --iodepth 2 --runtime "$1" --force --plain
			echo "status $?"
		) >/tmp/bystander.$how 2>&1 &
	done
}
bystanders_check() {
	local how
	for how in $BYSTANDERS; do
		check "$how went on meanwhile" wait_for 120 grep -q '^status' /tmp/bystander.$how
		check "and had no error" sh -c "grep -q '^status 0' /tmp/bystander.$how || { cat /tmp/bystander.$how; false; }"
	done
}

device_gone_story() {
	log_mark
	bystanders_start 12
	load_start 32
	check "the link is deleted under load" timeout 60 rdma link delete "$DEVICE"
	check "the device is gone" sh -c "! rdma link | grep -q $DEVICE"
	sleep 2
	check "isertd tells" log_says "$DEVICE was removed"
	device_add
	check "the portal is bound again, by itself" wait_for 60 listens
	load_check "the link deleted and made again: the load ends without an error, verified"
	check "the session is RDMA's again" wait_for 60 session_says 'iser \(verbs\)' LOGGED_IN 'Recoveries: [1-9]'
	bystanders_check
}

# rxe's own queue pair for RDMA_CM does not live through a message that it cannot send: no more connections are made until
# the link is made anew. So a failure here counts only when programs without any iSER can connect.
can_connect() {
	local server status
	rping -s -C 1 -a $IP -p 7174 >/dev/null 2>&1 &
	server=$!
	sleep 1
	timeout 20 rping -c -C 1 -a $IP -p 7174 >/dev/null 2>&1
	status=$?
	kill $server 2>/dev/null
	return $status
}
device_down_story() {
	log_mark
	load_start 32
	ip link set d0 down
	sleep 2
	ip link set d0 up
	check "the port went down and up: isertd tells" wait_for 30 log_says "$DEVICE: port 1 is up"
	if ! wait_for 60 can_connect; then
		peer_bug "the port down and up: the load ends without an error" "rxe makes no connections any more after it was down"
		rdma link delete "$DEVICE"
		device_add
	fi
	load_check "the port down and up: the load ends without an error, verified"
	check "a session after it" session_says LOGGED_IN
}

device_late_story() {
	rdma link delete "$DEVICE"
	log_mark
	target_back
	check "without a device, isertd serves the others" lun -o list
	node_new >/dev/null
	check "iserd takes software iWARP where there is no device" login
	check "and says so" session_says 'iser \(softiwarp\)'
	logout >/dev/null
	device_add
	check "a device that comes later is listened on" wait_for 60 listens
	check "login over it" login
	check "by verbs" session_says 'iser \(verbs\)' "$DEVICE, MTU"
	logout >/dev/null
}

device_config() {
	STORE="backend: file, path: $DISK"
	isertd_start none || return
	isertd_stop
	echo "      - { lun: 2, backend: memory, size: 16M }" >>/tmp/isertd.yaml
	isertd_back
}
cell_device() {
	story "faults of $DEVICE"
	host_allows device || return
	KIND=isertd LUN=0
	initiator_use iserd
	device_config || { fail "isertd starts" && return; }
	node_new >/dev/null
	check "login" login || return
	wait_device 0
	device_gone_story
	device_down_story
	check "logout" logout
	target_stop
	device_late_story
	initiator_stop
	target_stop
}

# ---- siw and rxe in one host, one portal for both ----

OTHER_IP=192.168.98.1
cell_wildcard() {
	story "a wildcard portal on rxe0 and siw0"
	host_allows device || return
	KIND=isertd LUN=0
	initiator_use iserd
	ip link add e0 type dummy && ip link set e0 mtu 1500 up && ip addr add $OTHER_IP/24 dev e0
	load_modules libcrc32c siw
	rdma link add siw0 type siw netdev e0
	isertd_start none && isertd_stop
	sed -i "s/^portals:.*/portals: [\"0.0.0.0:$PORT\"]/" /tmp/isertd.yaml
	log_mark
	isertd_back || { fail "isertd starts" && return; }
	check "it listens on rxe0" log_says "listening on $IP:$PORT for RDMA, rxe0"
	check "siw0's port is the TCP listener's, and told so" log_says "$OTHER_IP:$PORT: the port is TCP's on the iWARP device siw0"
	check "nobody complains" sh -c "! tail -n +$((LOG_MARK + 1)) $R/isertd.log | grep -iE 'in use|no listening'"
	PORTAL=$IP:$PORT
	node_new >/dev/null
	check "login by rxe0" login
	check "which is verbs" session_says 'iser \(verbs\)' 'rxe0, MTU'
	logout >/dev/null
	PORTAL=$OTHER_IP:$PORT
	node_new >/dev/null
	check "login by siw0, to isertd's software iWARP" login
	check "which is verbs on this end" session_says 'iser \(verbs\)' 'siw0, MTU'
	check "and moves data" lun -o bench --rw randread --iodepth 8 --runtime 1
	logout >/dev/null
	PORTAL=$IP:$PORT
	log_mark
	ip addr add 192.168.97.1/24 dev d0
	check "an address that comes later is listened on" wait_for 60 log_says "listening on 192.168.97.1:$PORT for RDMA, rxe0"
	ip addr del 192.168.97.1/24 dev d0
	check "one device goes" timeout 60 rdma link delete siw0
	check "the other goes on" lun -o list
	initiator_stop
	target_stop
	ip link del e0
}
