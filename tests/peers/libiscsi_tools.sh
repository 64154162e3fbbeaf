#!/bin/bash
# Debian's libiscsi tools against isertd over TCP: they list, inquire, read the capacity, read for a while.
. "$(dirname "$0")/../kit/functions.sh"
require iscsi-ls iscsi-inq iscsi-readcapacity16 iscsi-perf

start_isertd --portal 127.0.0.1:0 --target "$IQN" --lun 0=memory=64M --lun 7=null=1G --lun 300=memory=8M || exit 1
url=iscsi://$PORTAL/$IQN

iscsi-ls -s "iscsi://$PORTAL/" >"$W/ls" 2>&1
check "iscsi-ls names the target" grep -q "Target:$IQN Portal:$PORTAL" "$W/ls"
check "iscsi-ls lists LUN 0 as a disk of 64 MiB" grep -qE 'Lun:0 +Type:DIRECT_ACCESS.*63M|Lun:0 +Type:DIRECT_ACCESS.*64M' "$W/ls"
check "iscsi-ls lists LUN 7" grep -qE 'Lun:7 ' "$W/ls"
iscsi-inq "$url/0" >"$W/inq" 2>&1
check "iscsi-inq shows a connected direct-access device" grep -q 'Peripheral Device Type:DIRECT_ACCESS' "$W/inq"
check "iscsi-inq shows SPC-4" grep -qiE 'Version: *6|SPC-4' "$W/inq"
for page in 0x00 0x80 0x83 0xb0 0xb1 0xb2; do
	check "iscsi-inq reads VPD page $page" iscsi-inq -e 1 -c $page "$url/0"
done
iscsi-readcapacity16 "$url/0" >"$W/cap" 2>&1
check "iscsi-readcapacity16 says 64 MiB" grep -qE 'Total size: *67108864' "$W/cap"
check "a LUN above 255, written as a plain number" sh -c \
	"iscsi-readcapacity16 '$url/300' | grep -E 'Total size: *8388608'"
check "the same LUN, as REPORT LUNS has it (flat space: 4000h + 300)" sh -c \
	"iscsi-readcapacity16 '$url/16684' | grep -E 'Total size: *8388608'"
check "iscsi-inq on a LUN that is not there fails or says not connected" sh -c \
	"iscsi-inq '$url/5' 2>&1 | grep -qiE 'qualifier.*(NOT_SUPPORTED|3)|fail|error'"
timeout 20 iscsi-perf -m 32 -b 8 -t 1 -r "$url/0" >"$W/perf" 2>&1
check "iscsi-perf reads at random at depth 32" grep -qE 'iops average [1-9][0-9]*' "$W/perf"
