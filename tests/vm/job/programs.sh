# What the matrix does with initiators that are libraries: libiscsi's tools and QEMU's block driver, over iSER.
# Both are libiscsi 1.19 underneath: it declares immediate data and sends none, ignores MaxCmdSN, cannot log in twice
# in one process, and crashes on Async and TMF responses over iSER; none of the stories needs those. Sourced by main.
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

LIBISCSI_NAME=iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-inq
PERF_NAME=iqn.2010-11.iscsi-perf
QEMU_NAME=iqn.2008-11.org.linux-kvm
INITIATOR_NAMES="$INITIATOR_NAMES $LIBISCSI_NAME $PERF_NAME $QEMU_NAME iqn.2026-11.org.iseran:tools"
TOOLS="-i iqn.2026-11.org.iseran:tools"

libiscsi_missing() { has_program iscsi-perf; }
qemu_missing() { has_program qemu-img; }
url() { echo "iser://${1:+$1@}$PORTAL/$IQN/$LUN"; }

# iscsi-inq, iscsi-readcapacity16, iscsi-perf; COUNT logins
libiscsi_story() {
	local i
	libiscsi_tries "discovery" "iscsi-ls knows no iser:// URL" iscsi-ls $TOOLS "iser://$PORTAL"
	check "iscsi-inq" sh -c "iscsi-inq $TOOLS $(url) | grep -i 'Peripheral Device Type'"
	check "iscsi-readcapacity16 says $SIZE_MIB MiB" sh -c "iscsi-readcapacity16 $TOOLS $(url) | grep -E '$((SIZE_MIB << 20))|$(((SIZE_MIB << 11) - 1))'"
	check "iscsi-perf, 4 KiB, depth 1" perf 8 1
	check "iscsi-perf, 4 KiB, depth 32" perf 8 32
	check "iscsi-perf, 256 KiB, depth 8" perf 512 8
	program_loss_story iscsi-inq $TOOLS "$(url)"
	for ((i = 1; i <= $1; i++)); do
		timeout -k 5 60 iscsi-inq $TOOLS "$(url)" >/tmp/inq.out 2>&1 || { fail "$1 logins in a row: number $i: $(tail -n 1 /tmp/inq.out)" && return; }
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
	timeout -k 5 90 iscsi-perf $TOOLS -m "$2" -b "$1" -t 3 -r "$(url)" >/tmp/perf.out 2>&1
	tr '\r' '\n' </tmp/perf.out | grep -E 'iops (average )?[1-9]|iops.*[1-9][0-9]*.*MB/s' || { cat /tmp/perf.out && return 1; }
}
# What it may learn one day.
libiscsi_tries() { # NAME WHY_NOT COMMAND...
	if timeout -k 5 60 "${@:3}" 2>&1 | grep -qE "Target:$IQN|\.\.\.passed"; then
		pass "$1"
	else
		peer_bug "$1" "$2"
	fi
}
# The suite logs in a second time in the same process, which fails inside libiscsi against every target but tgt's, or
# crashes there: what counts is which tests were reached, that none of those failed, and that the target lives.
CU_SUITES="SCSI.TestUnitReady SCSI.Inquiry SCSI.Read10.Simple SCSI.Write10.Simple"
cu_story() {
	local suite passed=0
	for suite in $CU_SUITES; do
		timeout -k 5 60 iscsi-test-cu -d -n -t "$suite" "$(url)" >/tmp/cu.out 2>&1
		passed=$((passed + $(grep -c '\.\.\.passed' /tmp/cu.out)))
		echo "# iscsi-test-cu $suite: status $?, $(grep -c '\.\.\.passed' /tmp/cu.out) passed, $(grep -c 'FAILED$' /tmp/cu.out) failed; $(tail -n 1 /tmp/cu.out | tr -cd '[:print:]' | cut -c1-120)"
	done
	if [ $passed -gt 0 ]; then
		pass "iscsi-test-cu: $passed tests passed"
	else
		peer_bug "iscsi-test-cu" "libiscsi 1.19 cannot log in over iSER a second time in one process"
	fi
	libiscsi_tries "abort and LUN reset" "libiscsi 1.19 crashes on their responses over iSER" iscsi-test-cu -d -n -t iSCSI.iSCSITMF "$(url)"
	check "the target lives after it" iscsi-inq $TOOLS "$(url)"
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
	local name=$1 status
	shift
	timeout -k 5 60 "$@" >/tmp/chap.out 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		pass "$name"
	elif [ $status -eq 124 ] || grep -q 'CQ handle Failed' /tmp/chap.out; then
		peer_bug "$name" "libiscsi 1.19 has only receives of 128 bytes for the second login response"
	else
		fail "$name: $(tail -n 1 /tmp/chap.out)"
	fi
}

# They do not come back by themselves: what counts is that their end is noticed, and that the next one gets in.
program_loss_story() { # COMMAND...
	local load
	timeout -s KILL 30 iscsi-perf $TOOLS -m 8 -b 8 -t 20 -r "$(url)" >/tmp/lost.out 2>&1 &
	load=$!
	sleep 3
	target_lose
	sleep 1
	target_back
	check "target lost under load and back: a new login works" timeout -k 5 60 "$@"
	wait_for 60 sh -c "! kill -0 $load 2>/dev/null"
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
	program_loss_story qemu-img info --image-opts "$(options)"
	check "$1 logins in a row" repeat "$1" timeout -k 5 60 qemu-img info --image-opts "$(options)"
}
qemu_chap_story() {
	local with
	target_start "$KIND" chap || return
	check_refused "no authentication is refused" 'auth|login|fail' qemu-img info --image-opts "$(options)"
	with="$(options),file.user=$CHAP_NAME,file.password-secret=s"
	check_refused "a wrong secret is refused" 'auth|login|fail' qemu-img info --object secret,id=s,data=wrong-secret-99 --image-opts "$with"
	libiscsi_proves "login with CHAP" qemu-img info --object secret,id=s,data=$CHAP_SECRET --image-opts "$with"
	target_stop
}
