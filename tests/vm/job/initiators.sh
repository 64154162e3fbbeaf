# What every cell of the matrix does, for the initiators that make a block device: the kernel's (iscsiadm, ib_iser)
# and iserd (iseradm), whose commands are alike. Sourced by main.
#   initiator_use kernel|iserd; initiator_stop
#   disk_story MAX_BYTES       discovery, login, verified writes and reads, resets, logout
#   loss_story                 the target is lost under load, and comes back
#   chap_story                 CHAP, mutual CHAP, wrong secrets
#   login_story COUNT          so many logins in a row
# shellcheck shell=bash disable=SC2016,SC2034,SC2086,SC2119,SC2120

KERNEL_NAME=iqn.2026-11.org.iseran:kernel
ISERD_NAME=iqn.2026-11.org.iseran:iserd
INITIATOR_NAMES="$KERNEL_NAME $ISERD_NAME"

kernel_missing() {
	has_program iscsiadm
	has_module ib_iser
	[ -n "${ISCSID-}" ] || ! pgrep -x iscsid >/dev/null || echo "iscsid runs here: the host's own sessions are left alone"
}
initiator_use() {
	INITIATOR=$1
	case $1 in
	kernel)
		ADM=iscsiadm
		if ! pgrep -x iscsid >/dev/null; then
			load_modules ib_iser sd_mod sg
			mkdir -p /run/lock/iscsi /etc/iscsi
			echo "InitiatorName=$KERNEL_NAME" >/etc/iscsi/initiatorname.iscsi
			setsid iscsid -f >>$R/iscsid.log 2>&1 &
			ISCSID=$!
			sleep 1
		fi
		;;
	iserd)
		ADM=iseradm
		load_modules fuse loop ublk_drv
		mkdir -p /run/iseran /var/lib/iseran
		echo "InitiatorName=$ISERD_NAME" >/var/lib/iseran/initiatorname
		;;
	esac
}
initiator_stop() {
	case $INITIATOR in
	kernel) node --logout >/dev/null 2>&1 ;;
	iserd)
		timeout 120 iseradm -m node --logout all --force >/dev/null 2>&1
		timeout 60 iseradm -m daemon -o stop >/dev/null 2>&1
		cat /run/iseran/iserd.log >>$R/iserd.log 2>/dev/null
		rm -f /run/iseran/iserd.log
		;;
	esac
}
# On siw, iserd meets the kernel's iWARP by software; elsewhere it takes the RDMA device.
provider() {
	if [ "$INITIATOR-$ON_SIW" = iserd-1 ]; then
		echo "--provider softiwarp"
	fi
}
adm() { timeout 180 $ADM "$@"; }
node() { adm -m node -T $IQN -p $PORTAL "$@"; }
node_set() { # NAME VALUE...
	while [ $# -ge 2 ]; do
		node -o update -n "$1" -v "$2" || return 1
		shift 2
	done
}
node_new() {
	node -o delete >/dev/null 2>&1
	node -o new -I iser && node_patient
}
# An emulated guest on a busy host is slow where nothing is wrong.
node_patient() {
	node_set "node.conn[0].timeo.login_timeout" 60 "node.conn[0].timeo.noop_out_interval" 10 \
		"node.conn[0].timeo.noop_out_timeout" 60
	[ -z "$(provider)" ] || node_set iface.rdma_provider softiwarp
}
lun() { adm -m lun "$@" -T $IQN -p $PORTAL -I iser $(provider) -l $LUN; }
login() { node -I iser --login; }
logout() { node -I iser --logout "$@"; }

session_folder() { dirname "$(grep -lx "$IQN" /sys/class/iscsi_session/session*/targetname 2>/dev/null | tail -n 1)"; }
# The block device of one LUN of the session.
device_of() { # LUN
	case $INITIATOR in
	kernel) basename "$(echo "$(session_folder)"/device/target*/*:*:*:"$1"/block/sd*)" | grep '^sd[a-z]*$' ;;
	iserd) basename "$(readlink "/run/iseran/by-path/ip-$PORTAL-iscsi-$IQN-lun-$1")" ;;
	esac
}
wait_device() { wait_for 120 device_there "$1"; }
device_there() { [ "$(blockdev --getsize64 "/dev/$(device_of "$1")")" -gt 0 ]; }
# A loop device's node stays, without a size.
device_gone() { [ ! -b "$1" ] || [ "$(blockdev --getsize64 "$1")" -eq 0 ]; }

# Every size at depths 1 and 32, written at random places, read back, compared.
fio_job() { # device, largest block in KiB
	local row bs size depth
	printf '[global]\nfilename=%s\ndirect=1\nioengine=libaio\nverify=crc32c\nverify_fatal=1\nrw=randwrite\n' "$1"
	printf 'group_reporting=1\nallow_mounted_write=0\nthread=1\n'
	for row in 512:128k 4k:1m 64k:4m 256k:8m 1m:16m 8m:32m; do
		bs=${row%:*} size=${row#*:}
		[ "$(numfmt --from=iec "${bs^^}")" -le $(($2 * 1024)) ] || continue
		for depth in 1 32; do
			printf '[%s-%s]\nstonewall\nbs=%s\nsize=%s\niodepth=%s\n' "$bs" $depth "$bs" "$size" $depth
		done
	done
}
verified() { # device, largest block in KiB
	fio_job "$1" "$2" >/tmp/verify.fio
	LIMIT=900 check "writes and reads of 512 B to $2 KiB, depth 1 and 32, verified" fio --minimal --output=/tmp/fio.out /tmp/verify.fio
}

disk_story() { # largest block in KiB
	check "discovery over iSER lists the target" sh -c "$ADM -m discovery -t st -p $PORTAL -I iser $(provider) | grep -F $IQN"
	node_patient
	# LIO answers nothing while a LUN's file system is frozen, pings neither.
	[ "$KIND" = isertd ] || node_set "node.conn[0].timeo.noop_out_interval" 0
	check "login" login || return 1
	if ! check "a block device appears" wait_device $LUN; then
		logout >/dev/null 2>&1
		return 1
	fi
	local dev
	dev=/dev/$(device_of $LUN)
	check "it has its size" test "$(blockdev --getsize64 "$dev")" = $((SIZE_MIB << 20))
	slow_start
	verified "$dev" "$1"
	slow_check
	resets "$dev"
	image_story
	# iserd sends the slow read again, for which nobody waits here.
	if [ "$INITIATOR-$KIND" = iserd-isertd ]; then
		check "logout, though the slow LUN's device is in use" logout --force
	else
		check "logout" logout
	fi
	check "the block device is gone" wait_for 60 device_gone "$dev"
}

# A LUN reset from outside; then the disk still reads.
resets() { # device
	case $INITIATOR in
	kernel) check "LUN reset" sg_reset -d "$1" ;;
	iserd) check "LUN reset" lun -o reset --force ;;
	esac
	check "reads go on after it" dd if="$1" of=/dev/null bs=1M count=4 iflag=direct
}

# iserd takes 30 s for too long. The slow LUN then answers after 40 s, to one command that goes on while the other LUN is
# tried: isertd's to a read, that of the others to a write, when its file system is thawed.
slow_start() {
	local slow
	[ "$INITIATOR" = iserd ] || return 0
	wait_device $((LUN + 1))
	slow=/dev/$(device_of $((LUN + 1)))
	if [ "$KIND" = isertd ]; then
		timeout 300 dd if="$slow" of=/dev/null bs=4k count=1 iflag=direct >/dev/null 2>&1 &
		return
	fi
	fsfreeze -f /mnt/slow
	timeout 300 dd if=/dev/zero of="$slow" bs=4k count=1 oflag=direct >/dev/null 2>&1 &
	SLOW_IO=$!
	(
		sleep 40
		fsfreeze -u /mnt/slow
	) &
}
slow_check() {
	[ "$INITIATOR" = iserd ] || return 0
	if [ "$KIND" = isertd ]; then
		check "a command that takes too long is aborted" wait_for 120 sh -c "iseradm -m session --json | grep -E '\"aborts\": *[1-9]'"
		return
	fi
	# They answer the command, once they can, before they answer for its end.
	check "a command that takes too long is aborted" wait_for 120 grep "did not answer command .* in time, aborting it" /run/iseran/iserd.log
	if wait $SLOW_IO; then pass "and ends well"; else fail "and ends well"; fi
}

# LUN 1 of isertd answers after 3 s. Without pings the kernel takes 1 s for too long, and aborts.
abort_story() {
	local slow level
	[ "$INITIATOR-$KIND" = kernel-isertd ] || return 0
	node_new >/dev/null
	node_set "node.conn[0].timeo.noop_out_interval" 0 "node.conn[0].timeo.noop_out_timeout" 0
	check "login without pings" login || return
	wait_device 1
	slow=$(device_of 1)
	level=$(cat /proc/sys/dev/scsi/logging_level)
	echo 7 >/proc/sys/dev/scsi/logging_level # error recovery, step by step
	echo 1 >"/sys/block/$slow/device/timeout"
	echo "job: abort" >/dev/kmsg
	timeout 60 dd if="/dev/$slow" of=/dev/null bs=4k count=1 skip=100 iflag=direct >/dev/null 2>&1
	echo "$level" >/proc/sys/dev/scsi/logging_level
	dmesg | sed -n '/job: abort/,$p' >/tmp/abort
	check "a command that takes too long is aborted, and sent again" grep -E 'retry aborted command' /tmp/abort
	check "too long again: the LUN is reset" grep -E 'Power-on or device reset' /tmp/abort
	check "the other LUN was not disturbed" dd if="/dev/$(device_of $LUN)" of=/dev/null bs=1M count=4 iflag=direct
	check "logout after the abort" logout
}

# What iserd does without a block device.
image_story() {
	[ "$INITIATOR" = iserd ] || return 0
	head -c 24M /dev/urandom >/tmp/image
	check "an image is copied in" lun -o copy-in --file /tmp/image
	check "verify agrees" lun -o verify --file /tmp/image
	check "bench, 4 KiB writes, depth 32" lun -o bench --rw randwrite --iodepth 32 --runtime 2
	check "bench, 1 MiB reads, depth 8" lun -o bench --rw read --bs 1M --iodepth 8 --runtime 2
}

loss_story() {
	local dev load
	node_new >/dev/null
	check "login before the loss" login || return 1
	wait_device $LUN
	dev=/dev/$(device_of $LUN)
	[ "$INITIATOR" = kernel ] && echo 120 >"/sys/block/$(basename "$dev")/device/timeout"
	fio --name=loss --filename="$dev" --direct=1 --ioengine=libaio --iodepth=16 --rw=randwrite --bs=16k --size=48m \
		--verify=crc32c --verify_fatal=1 --minimal --output=/tmp/loss.out >/tmp/loss.err 2>&1 &
	load=$!
	sleep 3
	target_lose
	sleep 3
	kill -0 $load 2>/dev/null || echo "# the load was over before the loss"
	target_back
	if wait_for 300 sh -c "! kill -0 $load 2>/dev/null" && wait $load; then
		pass "target lost and back: the load ends without an error, verified"
	else
		fail "target lost and back: the load ends without an error, verified"
		tail -n 8 /tmp/loss.err | sed 's/^/# /'
	fi
	check "logout after the loss" logout
}

# LIO's portal is blocked by a login that ended half way, until its own timer of 15 s has run out.
relief() {
	[ "$INITIATOR" = kernel ] && logout >/dev/null 2>&1
	[ "$KIND" = lio ] && sleep 16
	return 0
}

# check, but for a target that died of the refusal before: tgt does at times.
proves() { # NAME COMMAND...
	if [ "$KIND" = tgt ] && ! "${@:2}" >/tmp/proves.out 2>&1; then
		if ! wait_for 3 sh -c "! kill -0 $TARGET 2>/dev/null"; then
			fail "$1: $(tail -n 1 /tmp/proves.out)"
			return 1
		fi
		peer_bug "tgtd lives through a refused login" "tgtd crashes after a login with a wrong secret"
		target_back
	elif [ "$KIND" = tgt ]; then
		pass "$1"
		return
	fi
	check "$@"
}
# In words of theirs and ours; a target that says nothing is waited for.
REFUSED='auth|secret|denied|fail|closed|timed out|within'
chap_story() {
	target_start "$KIND" chap || return 1
	node_new >/dev/null
	# One try: a target that closes instead of refusing would be asked eight times.
	node_set node.session.initial_login_retry_max 1
	check_refused "no authentication is refused" "$REFUSED" login
	relief
	node_set node.session.auth.authmethod CHAP node.session.auth.username $CHAP_NAME node.session.auth.password wrong-secret-99
	[ "$INITIATOR" = kernel ] && node_set node.session.auth.chap_algs "MD5"
	check_refused "a wrong secret is refused" "$REFUSED" login
	relief
	node_set node.session.auth.password $CHAP_SECRET
	proves "login with CHAP" login && logout >/dev/null
	target_stop
	target_start "$KIND" mutual || return 1
	node_set node.session.auth.username_in $BACK_NAME node.session.auth.password_in wrong-secret-88
	check_refused "a target with a wrong secret is refused" "$REFUSED" login
	relief
	node_set node.session.auth.password_in $BACK_SECRET
	proves "login with mutual CHAP" login && logout >/dev/null
	node -o delete >/dev/null 2>&1
	target_stop
}

login_story() { # how many
	local i start
	# Without a scan and without devices: what is tried is the login.
	if [ "$INITIATOR" = iserd ]; then
		initiator_stop
		iserd --no-devices >>$R/iserd.log 2>&1 &
		wait_for 60 iseradm -m daemon
	fi
	node_new >/dev/null
	[ "$INITIATOR" = kernel ] && node_set node.session.scan manual
	start=$SECONDS
	for ((i = 1; i <= $1; i++)); do
		if ! { login && logout; } >/tmp/logins.out 2>&1; then
			fail "$1 logins in a row: number $i"
			sed 's/^/# /' /tmp/logins.out
			logout >/dev/null 2>&1
			return 1
		fi
	done
	pass "$1 logins in a row$(took "$start")"
	node -o delete >/dev/null 2>&1
	[ "$INITIATOR" = kernel ] || initiator_stop
}
