# Measurements, turn by turn within one boot: every round starts each target anew and runs every load on it.
#   bench_begin; bench_roof; bench_disk TARGET INITIATOR; bench_iserd TARGET; bench_libiscsi TARGET; bench_nvme
# Each figure is a line in /results/figures: what, who, load, value, unit. Sourced by main; read by bench.sh.
# shellcheck shell=bash disable=SC2016,SC2034,SC2086

RUNTIME=${RUNTIME:-3}
IN_MEMORY="backend: memory, size: ${SIZE_MIB}M" # as LIO has it; tgt has a file of tmpfs
# name, fio's rw, block size, depth
LOADS="4k-randread-qd1:randread:4k:1 4k-randread-qd16:randread:4k:16 4k-randwrite-qd1:randwrite:4k:1
	4k-randwrite-qd16:randwrite:4k:16 256k-read-qd8:read:256k:8 256k-write-qd8:write:256k:8"

# Both CPUs, once what the kernel patches itself for is there. The initiators have the first, a target that is a process the
# second, as an administrator would place them; LIO and nvmet are threads of the kernel, which places them.
bench_begin() {
	load_modules fuse loop ib_iser sd_mod sg target_core_mod iscsi_target_mod ib_isert nvmet nvmet-rdma nvme-rdma
	modprobe brd rd_nr=1 rd_size=131072
	initiator_use kernel
	cpus_online
	set -- "$(nproc)"
	[ "$1" -gt 1 ] || return
	taskset -pc 0 $$ >/dev/null
	TARGET_ON="taskset -c 1-$(($1 - 1))"
}
figure() { # initiator, target, load, value, unit
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>$R/figures
	echo "# $1 $2 $3 $4 $5"
}
fio_loads() { # initiator, target, device
	local load rw bs depth iops
	for load in $LOADS; do
		IFS=: read -r load rw bs depth <<<"$load"
		iops=$(fio --name=bench --filename="$3" --size=120m --rw="$rw" --bs="$bs" --iodepth="$depth" --ioengine=libaio \
			--direct=1 --runtime="$RUNTIME" --time_based --norandommap --randrepeat=0 --output-format=json |
			jq '.jobs[0] | .read.iops + .write.iops')
		figure "$1" "$2" "$load" "${iops:-0}" IOPS
	done
}
bench_disk() { # target, initiator
	story "bench: $2 with $1 on $DEVICE"
	initiator_use "$2"
	target_start "$1" none || return
	node_new >/dev/null
	if check "login" login && check "a block device" wait_device $LUN; then
		fio_loads "$2" "$1" "/dev/$(device_of $LUN)"
		check "logout" logout
	fi
	target_stop
}
# iserd's own load generator, without a block device.
bench_iserd() { # target
	local load rw bs depth iops
	story "bench: iserd's own load with $1 on $DEVICE"
	initiator_use iserd
	target_start "$1" none || return
	for load in $LOADS; do
		IFS=: read -r load rw bs depth <<<"$load"
		iops=$(lun -o bench --rw "$rw" --bs "${bs^^}" \
			--iodepth "$depth" --runtime "$RUNTIME" --json 2>/dev/null | jq '.iops')
		figure iserd-bench "$1" "$load" "${iops:-0}" IOPS
	done
	target_stop
}
# iscsi-perf only reads.
bench_libiscsi() { # target
	local row load blocks depth iops
	story "bench: iscsi-perf with $1 on $DEVICE"
	target_start "$1" none || return
	for row in 4k-randread-qd1:8:1 4k-randread-qd16:8:16 256k-read-qd8:512:8; do
		IFS=: read -r load blocks depth <<<"$row"
		iops=$(timeout 60 iscsi-perf $TOOLS -m "$depth" -b "$blocks" -t "$RUNTIME" -r "$(url)" 2>&1 | tr '\r' '\n' |
			sed -nE 's/.*iops average +([0-9]+).*/\1/p' | tail -n 1)
		figure iscsi-perf "$1" "$load" "${iops:-0}" IOPS
	done
	target_stop
}
bench_nvme() {
	local n=/sys/kernel/config/nvmet dev
	story "bench: nvme-rdma with nvmet-rdma on $DEVICE"
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir -p $n/subsystems/s0/namespaces/1 $n/ports/1
	echo 1 >$n/subsystems/s0/attr_allow_any_host
	echo /dev/ram0 >$n/subsystems/s0/namespaces/1/device_path
	echo 1 >$n/subsystems/s0/namespaces/1/enable
	echo rdma >$n/ports/1/addr_trtype
	echo ipv4 >$n/ports/1/addr_adrfam
	echo $IP >$n/ports/1/addr_traddr
	echo 4420 >$n/ports/1/addr_trsvcid
	[ -e $n/ports/1/subsystems/s0 ] || ln -s $n/subsystems/s0 $n/ports/1/subsystems/s0
	check "nvme connect" nvme connect -t rdma -n s0 -a $IP -s 4420 || return
	wait_for 10 sh -c 'ls /dev/nvme?n1'
	dev=$(echo /dev/nvme?n1)
	fio_loads nvme nvmet "$dev"
	nvme disconnect -n s0 >/dev/null
}
# What the device itself does, as the roof.
bench_roof() {
	local tool bytes count value
	story "bench: perftest on $DEVICE"
	for row in ib_read_lat:4096:500 ib_write_lat:4096:500 ib_read_bw:4096:2000 ib_write_bw:4096:2000 ib_read_bw:262144:200 \
		ib_write_bw:262144:200; do
		IFS=: read -r tool bytes count <<<"$row"
		$TARGET_ON timeout 60 "$tool" -d "$DEVICE" -s "$bytes" -n "$count" -R -F >/dev/null 2>&1 &
		sleep 2
		timeout 60 "$tool" -d "$DEVICE" -s "$bytes" -n "$count" -R -F $IP >/tmp/perftest.out 2>&1
		wait $!
		case $tool in
		*lat) value=$(awk -v b="$bytes" '$1 == b { print $5 }' /tmp/perftest.out) && figure perftest "$tool" "$bytes" "${value:-0}" us ;;
		*bw) value=$(awk -v b="$bytes" '$1 == b { print $4 }' /tmp/perftest.out) && figure perftest "$tool" "$bytes" "${value:-0}" MB/s ;;
		esac
	done
}
