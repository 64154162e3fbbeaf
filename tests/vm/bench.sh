#!/bin/bash
# Measures the targets in the guest, turn by turn in one boot, and prints medians and ratios.
#   tests/vm/bench.sh BUILD OUT    ROUNDS=3, RUNTIME=3 (seconds for one load) and CPUS=2 (of the guest) may be set
# OUT gets figures (one line per run) and table.md. Absolute figures of an emulated guest mean nothing; ratios within
# the boot do. Called by `make bench-vm`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
out=$2
rounds=${ROUNDS:-3}
mkdir -p "$out" && out=$(cd "$out" && pwd)
scratch=$(mktemp -d /tmp/iseran-bench-vm.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$scratch/bin"
cp "$here"/job/* "$scratch/"
for p in isertd isertadm iserd iseradm; do strip -o "$scratch/bin/$p" "$build/$p"; done
{
	echo "RUNTIME=${RUNTIME:-3}"
	echo 'STORE=$IN_MEMORY'
	echo "device_up ${DEVICE:-rxe}"
	echo bench_begin
	for ((i = 0; i < rounds; i++)); do cat "$here/bench_round"; done
} >"$scratch/cells"
rm -f "$out/figures"
"$here/guest.sh" -p -c "${CPUS:-2}" -t 3000 "$scratch" "$out" || exit $?

# One line per load: medians of the rounds, and what isertd is of the better of LIO and tgt in the same round: the
# median of that, its least and its most. Then the roof, and what iserd with isertd is of it: a read is the target's
# RDMA Write, a write its RDMA Read; perftest's MB are MiB.
awk -F '\t' '
	function median(n, v, i, j, t) {
		for (i = 1; i <= n; i++)
			for (j = i + 1; j <= n; j++)
				if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	function middle(key, who, i, v) {
		for (i = 1; i <= count[key, who]; i++) v[i] = run[key, who, i]
		return count[key, who] ? median(count[key, who], v) : 0
	}
	function shown(v) { return v ? sprintf("%.0f", v) : "–" }
	function ratio(key, n, i, best, v) {
		n = count[key, "isertd"]
		for (i = 1; i <= n; i++) {
			best = run[key, "lio", i] > run[key, "tgt", i] ? run[key, "lio", i] : run[key, "tgt", i]
			if (!best) return "–"
			v[i] = run[key, "isertd", i] / best
		}
		if (!n) return "–"
		best = median(n, v)
		return sprintf("%.2f (%.2f–%.2f)", best, v[1], v[n])
	}
	function of_roof(load, tool, pair, roof) {
		pair = middle("iserd-bench" FS load, "isertd") / 4
		roof = middle(tool FS 262144 FS "MB/s", "roof")
		if (pair && roof)
			printf "| iserd and isertd, %s | %.0f MiB/s | %s | %.0f MiB/s | %.2f |\n", load, pair, tool, roof, pair / roof
	}
	# perftest over RDMA_CM crashes now and then: that is no speed. Of the targets a run that failed counts as 0.
	$1 == "perftest" && $4 == 0 { next }
	{
		roof = $1 == "perftest"
		key = roof ? $2 FS $3 FS $5 : $1 FS $3
		who = roof ? "roof" : $2
		if (!(key in place)) { place[key] = ++rows; name[rows] = key; is_roof[rows] = roof }
		run[key, who, ++count[key, who]] = $4 + 0
	}
	END {
		print "| initiator | load, IOPS | LIO | tgt | isertd | nvmet | isertd / better of LIO and tgt |"
		print "|---|---|---|---|---|---|---|"
		for (i = 1; i <= rows; i++) {
			if (is_roof[i]) continue
			key = name[i]; split(key, part, FS)
			print "| " part[1] " | " part[2] " | " shown(middle(key, "lio")) " | " shown(middle(key, "tgt")) " | " \
				shown(middle(key, "isertd")) " | " shown(middle(key, "nvmet")) " | " ratio(key) " |"
		}
		print "\n| roof | bytes | median | unit |\n|---|---|---|---|"
		for (i = 1; i <= rows; i++) {
			if (!is_roof[i]) continue
			key = name[i]; split(key, part, FS)
			print "| " part[1] " | " part[2] " | " middle(key, "roof") " | " part[3] " |"
		}
		print "\n| pair | speed | roof | speed | ratio |\n|---|---|---|---|---|"
		of_roof("256k-read-qd8", "ib_write_bw")
		of_roof("256k-write-qd8", "ib_read_bw")
	}' "$out/figures" >"$out/table.md"
cat "$out/table.md"
echo "figures: $out/figures; table: $out/table.md"
