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
	for ((i = 0; i < rounds; i++)); do cat "$here/bench_round"; done
} >"$scratch/cells"
rm -f "$out/figures"
"$here/guest.sh" -c "${CPUS:-2}" -t 3000 "$scratch" "$out" || exit $?

# One line per load: the median of each target's runs, and what isertd is of the better of LIO and tgt.
sort "$out/figures" | awk -F '\t' '
	function median(list, n, v, i, j, t) {
		n = split(list, v, " ")
		for (i = 1; i <= n; i++)
			for (j = i + 1; j <= n; j++)
				if (v[j] + 0 < v[i] + 0) { t = v[i]; v[i] = v[j]; v[j] = t }
		if (n == 0) return ""
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	function shown(v) { return v == "" ? "–" : sprintf("%.0f", v) }
	$1 == "perftest" { key = $2 FS $3 FS $5 }
	$1 != "perftest" { key = $1 FS $3 }
	!(key in place) { place[key] = ++rows; name[rows] = key; roof[rows] = ($1 == "perftest") }
	{ who = $1 == "perftest" ? "roof" : $2; runs[key, who] = runs[key, who] " " $4 }
	END {
		print "| initiator | load, IOPS | LIO | tgt | isertd | nvmet | isertd / better of LIO and tgt |"
		print "|---|---|---|---|---|---|---|"
		for (i = 1; i <= rows; i++) {
			if (roof[i]) continue
			key = name[i]; split(key, part, FS)
			l = median(runs[key, "lio"]); t = median(runs[key, "tgt"]); o = median(runs[key, "isertd"])
			best = (l + 0 > t + 0) ? l : t
			ratio = "–"
			if (best + 0 > 0 && o != "") ratio = sprintf("%.2f", o / best)
			print "| " part[1] " | " part[2] " | " shown(l) " | " shown(t) " | " shown(o) " | " \
				shown(median(runs[key, "nvmet"])) " | " ratio " |"
		}
		print "\n| roof | bytes | median | unit |\n|---|---|---|---|"
		for (i = 1; i <= rows; i++) {
			if (!roof[i]) continue
			key = name[i]; split(key, part, FS)
			print "| " part[1] " | " part[2] " | " median(runs[key, "roof"]) " | " part[3] " |"
		}
	}' >"$out/table.md"
cat "$out/table.md"
echo "figures: $out/figures; table: $out/table.md"
