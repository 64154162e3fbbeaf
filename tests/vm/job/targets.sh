# The targets of the matrix: isertd, LIO's isert, tgt. Each exports one disk of 128 MiB as $LUN of $IQN at $PORTAL.
#   target_start KIND AUTH     KIND: isertd, lio, tgt; AUTH: none, chap, mutual
#   target_stop                in order
#   target_lose / target_back  every connection is lost under way / logins work again, the data still there
# Sourced by main.
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

IQN=iqn.2026-11.org.iseran:vm
PORT=${PORT:-3260}
PORTAL=$IP:$PORT
CHAP_NAME=alice CHAP_SECRET=wonderland-1865 BACK_NAME=cheshire BACK_SECRET=lookingglass-71
DISK=/tmp/disk
SIZE_MIB=128
STORE="backend: file, path: $DISK" # of isertd
TARGET_ON=			    # what binds a target that is a process to a CPU

target_start() {
	KIND=$1 AUTH=$2 LUN=0
	[ "$KIND" = tgt ] && LUN=1
	"${KIND}_start" "$AUTH" || { fail "$KIND starts with authentication '$AUTH'" && return 1; }
}
target_stop() { "${KIND}_stop"; }
target_lose() { "${KIND}_lose"; }
target_back() { "${KIND}_back"; }

# ---- isertd ----

# On siw it is our software iWARP that meets the kernel's: the TCP port is the one that siw itself would take.
isertd_config() { # auth
	cat <<-YAML
		portals: ["$PORTAL"]
		targets:
		  - name: $IQN
		    luns:
		      - { lun: 0, $STORE }
		      - { lun: 1, backend: memory, size: 16M, delay: { read: ${SLOW:-3s} } }
	YAML
	case $1 in
	chap | mutual)
		cat <<-YAML
			    chap:
			      name: $CHAP_NAME
			      secret: $CHAP_SECRET
		YAML
		;;
	esac
	if [ "$1" = mutual ]; then
		cat <<-YAML
			      mutual: { name: $BACK_NAME, secret: $BACK_SECRET }
		YAML
	fi
}
isertd_start() { # auth
	truncate -s ${SIZE_MIB}M $DISK
	mkdir -p /run/iseran
	isertd_config "$1" >/tmp/isertd.yaml
	chmod 600 /tmp/isertd.yaml
	isertd_back
}
isertd_back() {
	rm -f /tmp/port
	$TARGET_ON isertd --config /tmp/isertd.yaml --port-file /tmp/port ${ISERTD_OPTIONS-} >>$R/isertd.log 2>&1 &
	TARGET=$!
	wait_for 120 test -s /tmp/port || { kill $TARGET; tail -n 5 $R/isertd.log | sed 's/^/# /' && return 1; }
}
isertd_lose() {
	kill -KILL $TARGET
	wait $TARGET 2>/dev/null
}
isertd_stop() { end_process $TARGET TERM 60; }

# ---- a second LUN of the other targets, which answers when it is let: its file system can be frozen ----

SLOW_DISK=/mnt/slow/disk
slow_disk_make() {
	mountpoint -q /mnt/slow && return
	load_modules loop
	truncate -s 48M /tmp/slow
	mkfs.ext4 -q -F /tmp/slow && mkdir -p /mnt/slow && mount -o loop /tmp/slow /mnt/slow &&
		head -c 16M /dev/zero >$SLOW_DISK && sync -f $SLOW_DISK
}

# ---- LIO ----

CFS=/sys/kernel/config/target
lio_missing() { has_module ib_isert; }
lio_start() { # auth
	local core=$CFS/core/rd_mcp_7145/iseran slow=$CFS/core/fileio_7145/iseran tpg=$CFS/iscsi/$IQN/tpgt_1 a
	load_modules configfs target_core_mod iscsi_target_mod ib_isert
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir -p /etc/target/pr "$core"
	if [ "$(cat "$core/enable")" != 1 ]; then
		echo rd_pages=$((SIZE_MIB * 256)) >"$core/control"
		echo 1 >"$core/enable"
	fi
	slow_disk_make || return 1
	mkdir -p "$slow"
	if [ "$(cat "$slow/enable")" != 1 ]; then
		echo fd_dev_name=$SLOW_DISK,fd_dev_size=$((16 << 20)) >"$slow/control"
		echo 1 >"$slow/enable"
	fi
	mkdir -p "$tpg/lun/lun_0" "$tpg/lun/lun_1" "$tpg/np/$PORTAL" || return 1
	ln -s "$core" "$tpg/lun/lun_0/port"
	ln -s "$slow" "$tpg/lun/lun_1/port"
	if [ "$ON_SIW" = 1 ]; then
		# LIO's own TCP listener is on the port that siw needs; once destroyed, it leaves the port to both.
		modprobe tcp_diag
		ss -K -tln src "$PORTAL" >/dev/null
	fi
	echo 1 >"$tpg/np/$PORTAL/iser" || return 1
	for a in generate_node_acls=1 demo_mode_write_protect=0 cache_dynamic_acls=1 \
		authentication=$([ "$1" = none ] && echo 0 || echo 1); do
		echo "${a#*=}" >"$tpg/attrib/${a%=*}"
	done
	if [ "$1" != none ]; then
		echo -n $CHAP_NAME >"$tpg/auth/userid"
		echo -n $CHAP_SECRET >"$tpg/auth/password"
	fi
	if [ "$1" = mutual ]; then
		echo -n $BACK_NAME >"$tpg/auth/userid_mutual"
		echo -n $BACK_SECRET >"$tpg/auth/password_mutual"
	fi
	echo 1 >"$tpg/enable"
	# With its listener gone, LIO's accepting thread spins.
	[ "$ON_SIW" = 1 ] && renice 19 "$(pgrep -xn iscsi_np)" >/dev/null 2>&1
	return 0
}
# On siw LIO waits for ever when it is disabled with a session under way: there the connection is cut, which logins
# may follow at once.
lio_lose() {
	if [ "$ON_SIW" = 1 ]; then
		ss -K -tn dst "$PORTAL" >/dev/null
	else
		echo 0 >$CFS/iscsi/$IQN/tpgt_1/enable
	fi
}
lio_back() { echo 1 >$CFS/iscsi/$IQN/tpgt_1/enable; }
lio_stop() {
	local tpg=$CFS/iscsi/$IQN/tpgt_1
	echo 0 >"$tpg/enable"
	rm -f "$tpg/lun/lun_0/port" "$tpg/lun/lun_1/port"
	rmdir "$tpg/np/$PORTAL" "$tpg/lun/lun_0" "$tpg/lun/lun_1" "$tpg" "$CFS/iscsi/$IQN"
	rmdir "$CFS"/core/{rd_mcp,fileio}_7145/iseran "$CFS"/core/{rd_mcp,fileio}_7145
}

# ---- tgt ----

tgt_missing() {
	has_program tgtd
	[ "$PORT" = 3260 ] || echo "its iSER has no port but 3260, which is in use here"
}
tgt_adm() { tgtadm -C 7 --lld iser "$@"; }
tgt_start() { # auth
	TGT_AUTH=$1
	truncate -s ${SIZE_MIB}M $DISK
	HUGE_PAGES=$(cat /proc/sys/vm/nr_hugepages)
	echo $((HUGE_PAGES + 200)) >/proc/sys/vm/nr_hugepages
	mkdir -p /run/tgtd
	slow_disk_make && tgt_back
}
tgt_back() {
	# Its TCP portal must not hold the port that its iSER portal listens on.
	$TARGET_ON tgtd -f -C 7 --iscsi portal=$IP:$((PORT + 10)) --iser pool_sz_mb=128 >>$R/tgtd.log 2>&1 &
	TARGET=$!
	wait_for 120 tgt_adm --op show --mode sys || return 1
	tgt_adm --op new --mode target --tid 1 -T $IQN &&
		tgt_adm --op new --mode logicalunit --tid 1 --lun 1 --bstype rdwr --backing-store $DISK &&
		tgt_adm --op new --mode logicalunit --tid 1 --lun 2 --bstype rdwr --backing-store $SLOW_DISK &&
		tgt_adm --op bind --mode target --tid 1 -I ALL || return 1
	# Over iSER it wants the initiator's name as well as its address.
	for i in $INITIATOR_NAMES; do tgt_adm --op bind --mode target --tid 1 -Q "$i"; done
	if [ "$TGT_AUTH" != none ]; then
		tgt_adm --op new --mode account --user $CHAP_NAME --password $CHAP_SECRET
		tgt_adm --op bind --mode account --tid 1 --user $CHAP_NAME
	fi
	if [ "$TGT_AUTH" = mutual ]; then
		tgt_adm --op new --mode account --user $BACK_NAME --password $BACK_SECRET
		tgt_adm --op bind --mode account --tid 1 --user $BACK_NAME --outgoing
	fi
	return 0
}
tgt_lose() {
	kill -KILL $TARGET
	wait $TARGET 2>/dev/null
}
tgt_stop() {
	tgt_lose
	echo $HUGE_PAGES >/proc/sys/vm/nr_hugepages
}
