#!/bin/bash
# iserd against Debian's tgtd over TCP: discovery, login with and without CHAP, write, read back, compare.
. "$(dirname "$0")/../kit/functions.sh"
require tgtd tgtadm

control=$((RANDOM % 20000 + 100))
port=$(free_port)
head -c 16M /dev/urandom >"$W/image"
truncate -s 64M "$W/disk"
start_tgtd $control "$port" || skip_all "tgtd does not start here: $(tail -n 1 "$W/tgtd.log")"
PORTAL=127.0.0.1:$port
adm() { tgtadm -C $control --lld iscsi "$@"; }
adm --op new --mode target --tid 1 -T "$IQN" && adm --op new --mode logicalunit --tid 1 --lun 1 -b "$W/disk" &&
	adm --op bind --mode target --tid 1 -I ALL || exit 1

check_says "discovery lists tgtd's target" 0 "$PORTAL,1 $IQN" iseradm -m discovery -t sendtargets -p "$PORTAL" -I tcp
check "login" iseradm -m node -T "$IQN" -p "$PORTAL" -I tcp --login
check_says "the session is shown" 0 "tcp: \[[0-9]+\] $PORTAL,1 $IQN" iseradm -m session
check_says "LUN 1 is listed, as a disk of 64 MiB" 0 '67108864|64 ?MiB|64.0 ?MiB' iseradm -m lun -o list -T "$IQN" -p "$PORTAL" -I tcp
check "an image is copied in" iseradm -m lun -o copy-in -T "$IQN" -p "$PORTAL" -I tcp -l 1 --file "$W/image"
check "tgtd's file has it" cmp -n 16777216 "$W/image" "$W/disk"
check "verify agrees" iseradm -m lun -o verify -T "$IQN" -p "$PORTAL" -I tcp -l 1 --file "$W/image"
check "it is copied out" iseradm -m lun -o copy-out -T "$IQN" -p "$PORTAL" -I tcp -l 1 --file "$W/back"
check "and is the same" cmp -n 16777216 "$W/image" "$W/back"
if have_block_devices; then
	device=$(readlink -f "$W/run/by-path/ip-$PORTAL-iscsi-$IQN-lun-1")
	check "tgtd's LUN is a block device that reads as the image" cmp -n 16777216 "$W/image" "$device"
else
	skip "tgtd's LUN is a block device that reads as the image" "no /dev/fuse or loop devices here"
fi
check "logout" iseradm -m node -T "$IQN" -p "$PORTAL" --logout

adm --op new --mode account --user alice --password wonderland12 &&
	adm --op bind --mode account --tid 1 --user alice
adm --op new --mode account --user tgt --password lookingglass1 &&
	adm --op bind --mode account --tid 1 --user tgt --outgoing
set_value() { iseradm -m node -T "$IQN" -p "$PORTAL" -o update -n "$1" -v "$2"; }
check_says "without CHAP it is refused, with a hint" "$STATUS_AUTH" 'CHAP|auth' iseradm -m node -T "$IQN" -p "$PORTAL" -I tcp --login
set_value node.session.auth.authmethod CHAP && set_value node.session.auth.username alice &&
	set_value node.session.auth.password wrongsecret123
check_says "a wrong secret is refused" "$STATUS_AUTH" 'secret|auth' iseradm -m node -T "$IQN" -p "$PORTAL" -I tcp --login
set_value node.session.auth.password wonderland12
set_value node.session.auth.chap_algs MD5
check "CHAP lets in" iseradm -m node -T "$IQN" -p "$PORTAL" -I tcp --login
check "logout after CHAP" iseradm -m node -T "$IQN" -p "$PORTAL" --logout
set_value node.session.auth.username_in tgt && set_value node.session.auth.password_in lookingglass1
check "mutual CHAP lets in" iseradm -m node -T "$IQN" -p "$PORTAL" -I tcp --login
check "logout after mutual CHAP" iseradm -m node -T "$IQN" -p "$PORTAL" --logout
set_value node.session.auth.password_in somethingelse9
check_says "a target with another mutual secret is refused" "$STATUS_AUTH" 'mutual|target|auth' \
	iseradm -m node -T "$IQN" -p "$PORTAL" -I tcp --login
