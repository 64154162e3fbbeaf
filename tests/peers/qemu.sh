#!/bin/bash
# QEMU's iSCSI driver (package qemu-block-extra) against isertd over TCP: an image goes in and comes back, and
# qemu-io writes, reads, discards and writes zeros.
. "$(dirname "$0")/../kit/functions.sh"
require qemu-img qemu-io
qemu-img --help | grep -q iscsi || skip_all "qemu-block-extra is not installed"

head -c 20M /dev/urandom >"$W/source"
truncate -s 64M "$W/source"
truncate -s 64M "$W/disk"
start_isertd --portal 127.0.0.1:0 --target "$IQN" --lun "0=file=$W/disk" || exit 1
url=iscsi://$PORTAL/$IQN/0

check "qemu-img info sees 64 MiB" sh -c "qemu-img info --output=json -f raw $url | grep -q '\"virtual-size\": 67108864'"
check "qemu-img convert copies an image in" timeout 60 qemu-img convert -n -f raw -O raw "$W/source" "$url"
check "and the target's file is that image" cmp "$W/source" "$W/disk"
check "qemu-img convert copies it out" timeout 60 qemu-img convert -f raw -O raw "$url" "$W/back"
check "and it is the same" cmp "$W/source" "$W/back"
check "qemu-img compare finds no difference" timeout 60 qemu-img compare -f raw -F raw "$url" "$W/source"
check "qemu-io writes a pattern and reads it" timeout 60 qemu-io -f raw -c 'write -P 0xa5 1M 3M' -c 'read -P 0xa5 1M 3M' \
	-c 'flush' "$url"
check "qemu-io writes zeros" timeout 60 qemu-io -f raw -c 'write -z 2M 1M' -c 'read -P 0 2M 1M' -c 'read -P 0xa5 1M 1M' "$url"
check "qemu-io discards" timeout 60 qemu-io -f raw -d unmap -c 'discard 1M 3M' "$url"
check "qemu-io in 512-byte pieces at depth 64" timeout 60 qemu-img bench -f raw -t none -c 2000 -d 64 -s 512 -w "$url"
