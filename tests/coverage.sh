#!/bin/bash
# What the tests have reached: a table of rooms from the counters that gcov left in a build, lines of the protocol rooms
# that were not reached, and pages to click through. Ends with 1 when a protocol room is below its goal; says which
# functions of theirs are not reached whole without docs/coverage.md saying why.
#   tests/coverage.sh build/cov build/coverage
set -u
build=$1 out=$2
lines_goal=95 branches_goal=85
page=docs/coverage.md
mkdir -p "$out"
log=$out/lcov.log
branches="--rc lcov_branch_coverage=1 --rc genhtml_branch_coverage=1"

lcov --quiet $branches --capture --no-external -b . -d "$build" -o "$out/all.info" >"$log" 2>&1 &&
	lcov --quiet $branches --extract "$out/all.info" "$PWD/common/*" "$PWD/initiator/*" "$PWD/target/*" \
		-o "$out/product.info" >>"$log" 2>&1 &&
	genhtml --quiet $branches --prefix "$PWD" --title Iseran -o "$out" "$out/product.info" >>"$log" 2>&1 ||
	{ tail -n 20 "$log" && echo "lcov failed: $log" && exit 1; }

# A file is compiled into several programs: its counters are added up.
awk -v root="$PWD/" -v lines_goal=$lines_goal -v branches_goal=$branches_goal -v missed="$out/missed.txt" '
BEGIN {
	device = "^target/(abort|arena|command|device|mode|nexus|opcodes|range|registry|reservations|sbc|spc|tmf|transfer|vpd)"
	protocol = "^(common/(scsi|iscsi|iwarp|datamover)|target, the device server)$"
}
function room_of(file) {
	if (file ~ device)
		return "target, the device server"
	if (file ~ "^common/rdma/verbs")
		return "common/rdma, verbs"
	sub("/[^/]*$", "", file)
	return file
}
function percent(hit, all) { return all ? 100 * hit / all : 100 }
/^SF:/ { file = substr($0, 4 + length(root)) }
/^FN:/ { split(substr($0, 4), v, ","); name[file, v[1]] = v[2] }
/^DA:/ { split(substr($0, 4), v, ","); line[file, v[1]] += v[2]; if (v[1] > last[file]) last[file] = v[1] + 0 }
/^BRDA:/ { split(substr($0, 6), v, ","); branch[file SUBSEP v[1] "," v[2] "," v[3]] += v[4] == "-" ? 0 : v[4] }
END {
	for (k in line) { split(k, v, SUBSEP); r = room_of(v[1]); lines[r]++; lines_hit[r] += line[k] > 0 }
	for (k in branch) { split(k, v, SUBSEP); r = room_of(v[1]); branches[r]++; branches_hit[r] += branch[k] > 0 }
	printf "%-28s %8s %8s   %8s %8s\n", "room", "lines", "reached", "branches", "reached"
	for (r in lines) {
		l = percent(lines_hit[r], lines[r]); b = percent(branches_hit[r], branches[r])
		low = r ~ protocol && (l < lines_goal || b < branches_goal)
		bad += low
		note = low ? "  below " lines_goal " % and " branches_goal " %" : r ~ protocol ? "  protocol" : r ~ /verbs/ ? "  make check-vm" : ""
		printf "%-28s %8d %6.1f %%   %8d %6.1f %%%s\n", r, lines[r], l, branches[r], b, note | "sort"
	}
	close("sort")
	for (file in last) {
		if (room_of(file) !~ protocol)
			continue
		in_function = ""
		for (i = 1; i <= last[file]; i++) {
			if ((file, i) in name)
				in_function = name[file, i]
			if ((file, i) in line && !line[file, i])
				printf "%s:%d %s\n", file, i, in_function | ("sort -t: -k1,1 -k2,2n >" missed)
		}
	}
	exit bad > 0
}' "$out/product.info"
rc=$?

# Each function with lines that were not reached has its row, which begins "| `file.c` | `function`".
sed -E 's/:[0-9]+ / /' "$out/missed.txt" | sort -u | while read -r file function; do
	grep -qF "| \`$file\` | \`$function\` |" $page || echo "$file: $function is not reached whole, and $page does not say why"
done >"$out/unexplained.txt"
cat "$out/unexplained.txt"
echo "pages: $out/index.html; lines of the protocol rooms that were not reached: $out/missed.txt"
exit $rc
