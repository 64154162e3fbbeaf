# What the matrix does with initiators that are libraries: libiscsi's tools and QEMU's block driver, over iSER.
# Both are libiscsi 1.19 underneath: it declares immediate data and sends none, ignores MaxCmdSN, cannot log in twice
# in one process, and crashes on Async and TMF responses over iSER; none of the stories needs those. Sourced by main.
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

LIBISCSI_NAME=iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-inq
PERF_NAME=iqn.2010-11.iscsi-perf
QEMU_NAME=iqn.2008-11.org.linux-kvm
INITIATOR_NAMES="$INITIATOR_NAMES $LIBISCSI_NAME $PERF_NAME $QEMU_NAME iqn.2026-11.org.iseran:tools"
TOOLS="-i iqn.2026-11.org.iseran:tools"

url() { echo "iser://${1:+$1@}$PORTAL/$IQN/$LUN"; }

# iscsi-inq, iscsi-readcapacity16, iscsi-perf; COUNT logins
libiscsi_story() {
	local i
	check "iscsi-inq" sh -c "iscsi-inq $TOOLS $(url) | grep -i 'Peripheral Device Type'"
	check "iscsi-readcapacity16 says $SIZE_MIB MiB" sh -c "iscsi-readcapacity16 $TOOLS $(url) | grep -E '$((SIZE_MIB << 20))|$(((SIZE_MIB << 11) - 1))'"
	check "iscsi-perf, 4 KiB, depth 1" perf 8 1
	check "iscsi-perf, 4 KiB, depth 32" perf 8 32
	check "iscsi-perf, 256 KiB, depth 8" perf 512 8
	for ((i = 1; i <= $1; i++)); do
		timeout 20 iscsi-inq $TOOLS "$(url)" >/tmp/inq.out 2>&1 || { fail "$1 logins in a row: number $i: $(tail -n 1 /tmp/inq.out)" && return; }
	done
	pass "$1 logins in a row"
}
# Against LIO the tools of Debian's libiscsi fail when one follows another: what they leave behind blocks the portal
# for 15 s. Each is tried once, with that pause.
libiscsi_reference() {
	check "reference: iscsi-inq" sh -c "iscsi-inq $TOOLS $(url) | grep -i 'Peripheral Device Type'"
	[ "$KIND" = lio ] && sleep 16
	check "reference: iscsi-perf, 4 KiB, depth 32" perf 8 32
}
perf() { # blocks, depth
	timeout 30 iscsi-perf $TOOLS -m "$2" -b "$1" -t 3 -r "$(url)" >/tmp/perf.out 2>&1
	tr '\r' '\n' </tmp/perf.out | grep -E 'iops (average )?[1-9]|iops.*[1-9][0-9]*.*MB/s' || { cat /tmp/perf.out && return 1; }
}
libiscsi_chap_story() {
	target_start "$KIND" chap || return
	check_refused "no authentication is refused" 'auth|login|fail' iscsi-inq $TOOLS "$(url)"
	check_refused "a wrong secret is refused" 'auth|login|fail' iscsi-inq $TOOLS "$(url $CHAP_NAME%wrong-secret-99)"
	libiscsi_proves "login with CHAP" iscsi-inq $TOOLS "$(url $CHAP_NAME%$CHAP_SECRET)"
	target_stop
	target_start "$KIND" mutual || return
	libiscsi_proves "login with mutual CHAP" env LIBISCSI_CHAP_TARGET_USERNAME=$BACK_NAME \
		LIBISCSI_CHAP_TARGET_PASSWORD=$BACK_SECRET iscsi-inq $TOOLS "$(url $CHAP_NAME%$CHAP_SECRET)"
	target_stop
}
# Debian's libiscsi queues receives of 128 bytes in front of the second login response, so any that is longer ends its
# queue pair: no target can let it in by CHAP over iSER (mended in 1.20).
libiscsi_proves() { # NAME COMMAND...
	local name=$1
	shift
	if timeout 30 "$@" >/tmp/chap.out 2>&1; then
		pass "$name"
	elif grep -q 'CQ handle Failed' /tmp/chap.out; then
		peer_bug "$name" "libiscsi 1.19 has only receives of 128 bytes for the second login response"
	else
		fail "$name: $(tail -n 1 /tmp/chap.out)"
	fi
}

options() { echo "driver=raw,file.driver=iscsi,file.transport=iser,file.portal=$PORTAL,file.target=$IQN,file.lun=$LUN"; }
qemu_story() {
	head -c 24M /dev/urandom >/tmp/image
	check "qemu-img writes an image" qemu-img convert -n -m 1 -W -f raw --target-image-opts /tmp/image "$(options)"
	check "what it reads back is the same" sh -c \
		"qemu-img dd --image-opts -O raw bs=1M count=24 if=$(options) of=/tmp/image.back && cmp /tmp/image /tmp/image.back"
	local size commands=() at=$((32 << 20))
	for size in 512 4k 64k 256k 1M 8M; do
		commands+=(-c "write -P 0x5a $at $size" -c "read -P 0x5a $at $size")
		at=$((at + (9 << 20)))
	done
	check "qemu-io writes and reads 512 B to 8 MiB" sh -c 'qemu-io --image-opts "$@" 2>&1 | tee /tmp/qemu-io.out; ! grep -iE "fail|error" /tmp/qemu-io.out' \
		qemu-io "${commands[@]}" "$(options)"
	check "qemu-img bench, writes at depth 32" qemu-img bench -w -c 500 -d 32 -s 4k --pattern=7 --image-opts "$(options)"
}
