#!/bin/bash
# Boots the guest, runs one job in it, and prints what the job prints.
#   tests/vm/guest.sh [-m MIB] [-c CPUS] [-t SECONDS] [-p] JOB RESULTS
# -p: the virtual CPUs run side by side, each on a thread of the host, and each a socket of its own, so that the kernel
# keeps what one has begun (rxe's work, too) on that one; the job then begins with one of them, and brings the others up by
# cpus_online() of lib.sh.
# JOB is a folder with a program `main`, which runs as root in the guest with the job as its working folder and
# prints TAP; what it leaves in /results arrives in the folder RESULTS, beside console.log. Ends with 0 when
# the job ran to its end, with 77 where there can be no guest. Called by check.sh and bench.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)

memory=3072
cpus=2
limit=900
parallel=0
while getopts m:c:t:p option; do
	case $option in
	m) memory=$OPTARG ;;
	c) cpus=$OPTARG ;;
	t) limit=$OPTARG ;;
	p) parallel=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
job=$1 results=$2
qemu="qemu-system-x86_64"
command -v $qemu >/dev/null || { echo "$qemu is not installed (tests/packages.sh vm)" && exit 77; }
image=$("$here/image.sh") || exit $?

# Hardware virtualisation counts only when a stock kernel boots with it: some hosts have a /dev/kvm under which the
# guest never prints its first line. The answer is kept beside the image.
accelerator() {
	local probe
	[ -c /dev/kvm ] && [ -w /dev/kvm ] || { echo tcg && return; }
	if [ ! -s "$image/accelerator" ]; then
		probe=$(mktemp)
		timeout -k 1 15 $qemu -accel kvm -cpu host -m 512 -kernel "$image/vmlinuz" -initrd "$image/initrd" -append \
			"console=ttyS0 panic=-1" -serial "file:$probe" -display none -monitor none -nic none -no-reboot \
			>/dev/null 2>&1 </dev/null
		if grep -q "Run /init" "$probe"; then echo kvm; else echo tcg; fi >"$image/accelerator"
		rm -f "$probe"
	fi
	cat "$image/accelerator"
}
accel=$(accelerator)
case "$accel" in
kvm) cpu=host ;;
# One thread for all virtual CPUs: with one each, QEMU 7.2 makes the 6.12 kernel stumble over its own patching, which it
# does while it boots, loads modules and makes devices: with -p there is one CPU until that is over.
tcg) accel=tcg,thread=single cpu=max,la57=off ;;
esac
more=
if [ $parallel = 1 ]; then
	cpus="$cpus,sockets=$cpus"
	[ "$cpu" = host ] || accel=tcg,thread=multi more="maxcpus=1 tsc=reliable "
fi

mkdir -p "$results"
scratch=$(mktemp -d /tmp/iseran-vm.XXXXXX) || exit 1
tar -C "$job" -cf "$scratch/job.tar" . || exit 1
# no_timer_check, nowatchdog: a busy host makes an emulated guest look stuck where it is only slow.
kernel="${more}console=ttyS0 loglevel=5 mitigations=off panic=-1 oops=panic no_timer_check nowatchdog rcupdate.rcu_cpu_stall_timeout=120"
boot() { # prints the job's lines as they come, returns QEMU's status
	rm -f "$results"/serial "$results"/dmesg "$results"/*.log
	TMPDIR=$scratch timeout -k 5 "$limit" $qemu -accel "$accel" -cpu "$cpu" -smp "$cpus" -m "$memory" \
		-kernel "$image/vmlinuz" -initrd "$image/initrd" -append "$kernel" \
		-drive "file=$image/root.img,format=raw,if=virtio,snapshot=on" \
		-drive "file=$scratch/job.tar,format=raw,if=virtio,readonly=on" \
		-virtfs "local,path=$results,mount_tag=results,security_model=none" \
		-serial "file:$results/console.log" -serial "file:$results/serial" -display none -monitor none -nic none -no-reboot \
		>"$results/qemu.log" 2>&1 </dev/null &
	guest=$!
	echo $guest >"$results/pid"
	until [ -e "$results/serial" ] || ! kill -0 $guest 2>/dev/null; do sleep 0.1; done
	# The serial line ends them with CR LF.
	tail -c +1 -f --pid=$guest "$results/serial" 2>/dev/null | sed -u 's|\r$||'
	wait $guest
	set -- $?
	guest=""
	return "$1"
}
guest=""
trap '[ -n "$guest" ] && kill $guest 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
boot
status=$?
if [ ! -s "$results/serial" ] && [ $status -ne 124 ]; then
	echo "# the guest did not reach its job; once more. It said: $(tail -n 1 "$results/console.log" | tr -d '\r')"
	boot
	status=$?
fi
rm -f "$results/pid"
[ $status -eq 124 ] && echo "# the guest was stopped: it took longer than $limit s"
if ! tr -d '\r' <"$results/serial" | grep -q '^# end of the job, status 0'; then
	echo "# the job did not come to its end (QEMU's status $status); last lines of the kernel's console:"
	tail -n 25 "$results/console.log" | tr -d '\r' | sed 's/^/# /'
	exit 1
fi
