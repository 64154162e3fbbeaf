#!/bin/bash
# Measures the targets in the guest, turn by turn in one boot, and prints medians and ratios.
#   tests/vm/bench.sh BUILD OUT    ROUNDS=3 and RUNTIME=3 (seconds for one load) may be set
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
	echo "device_up ${DEVICE:-rxe}"
	for ((i = 0; i < rounds; i++)); do cat "$here/bench_round"; done
} >"$scratch/cells"
rm -f "$out/figures"
"$here/guest.sh" -t 3000 "$scratch" "$out" || exit $?

# One line per load: the median of each, and what isertd is of the better of LIO and tgt.
sort "$out/figures" | awk -F '\t' '
	function median(list,   n, v, i, j, t) {
		n = split(list, v, " ")
		for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] + 0 < v[i] + 0) { t = v[i]; v[i] = v[j]; v[j] = t }
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	{ key = $1 FS $3; runs[key, $2] = runs[key, $2] " " $4; unit[key] = $5; if (!(key in seen)) { seen[key] = 1; order[++rows] = key } who[$1, $2] = 1 }
	END {
		print "| initiator | load | LIO | tgt | isertd | nvmet | isertd / better of LIO and tgt |"
		print "|---|---|---|---|---|---|---|"
		for (i = 1; i <= rows; i++) {
			key = order[i]; split(key, part, FS)
			if (part[1] == "perftest") continue
			l = median(runs[key, "lio"]); t = median(runs[key, "tgt"]); o = median(runs[key, "isertd"]); n = median(runs[key, "nvmet"])
			best = l + 0 > t + 0 ? l : t
			printf "| %s | %s | %s | %s | %s | %s | %s |\n", part[1], part[2], shown(l), shown(t), shown(o), shown(n), best > 0 && o > 0 ? sprintf("%.2f", o / best) : "–"
		}
		print ""
		print "| roof | bytes | median | unit |"
		print "|---|---|---|---|"
		for (key2 in runs) {
			split(key2, part, SUBSEP); split(part[1], p, FS)
			if (p[1] == "perftest") printf "| %s | %s | %s | %s |\n", part[2], p[2], median(runs[key2]), unit[part[1]] | "sort"
		}
	}
	function shown(v) { return v == "" ? "–" : sprintf("%.0f", v) }' >"$out/table.md"
cat "$out/table.md"
echo "figures: $out/figures; table: $out/table.md"
