#!/bin/bash
# The matrix of peers, in the guest: boots it, runs the cells of a list, judges its kernel's log. Prints TAP.
#   tests/vm/check.sh BUILD LOGS [CELLS...]   BUILD: folder with the programs; CELLS: names of files of tests/vm/cells, or
# paths of other lists. All lists of tests/vm/cells run by default, as many guests at a time as there are CPUs, and two more. A failed run's logs stay in LOGS.
# Ends with 77, and the reason, where the guest cannot be had. Called by `make check-vm`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
logs=$2
shift 2
# Longest first, by what each list says of itself, so that no long one begins when the others have ended.
lists_all() {
	awk 'FNR == 1 { seconds[FILENAME] = 0 } /^# seconds: / { seconds[FILENAME] = $3 }
		END { for (f in seconds) print seconds[f], f }' "$here"/cells/* | sort -k1,1nr -k2 | sed 's|.*/||'
}
[ $# -gt 0 ] || set -- $(lists_all)
mkdir -p "$logs" && logs=$(cd "$logs" && pwd)

command -v qemu-system-x86_64 >/dev/null || { echo "qemu-system-x86_64 is not installed" && exit 77; }
"$here/image.sh" >"$logs/image" || exit $?

clean_up() { # the guests of this run, and no others
	for cells in "${lists[@]}"; do
		[ -f "$logs/$(basename "$cells")/pid" ] && kill "$(cat "$logs/$(basename "$cells")/pid")" 2>/dev/null
	done
	rm -rf "$scratch"
}
lists=("$@")
scratch=$(mktemp -d /tmp/iseran-check-vm.XXXXXX)
trap clean_up EXIT
trap 'exit 130' INT TERM

# A folder with everything that the guest needs: our programs, the stories, the list of cells.
job_make() { # file with cells
	set -- "$(basename "$1")" "$1"
	mkdir -p "$scratch/$1/bin"
	cp "$here"/job/* "$scratch/$1/"
	cp "$2" "$scratch/$1/cells"
	for p in isertd isertadm iserd iseradm tests/vm/knock; do
		strip -o "$scratch/$1/bin/${p##*/}" "$build/$p" || exit 2
	done
	[ -z "${CONNECTS-}" ] || echo "CONNECTS=$CONNECTS" >"$scratch/$1/settings"
}

# An oops or a warning of the guest's kernel fails the run, unless peer_bugs has a pattern for it, and why.
trouble='(isert|iser)(d|adm)\[[0-9]+\]: segfault|BUG:|WARNING:|Oops|general protection fault|Call Trace|unable to handle|blocked for more than|soft lockup|detected stalls|self-detected stall|UBSAN|refcount_t:'
# A report is what stands between the kernel's own marks: one of the peer's is left out whole.
reports_sift() { # patterns
	awk -v patterns="$1" '
		function end() {
			if (report ~ patterns) print "# known trouble of the kernel: " what
			else printf "%s", report
			report = ""
		}
		/\[ cut here \]/ { if (report) end(); what = ""; report = $0 "\n"; next }
		!report { print; next }
		{ report = report $0 "\n" }
		what == "" { what = $0 }
		/\[ end trace/ { end() }
		END { if (report) end() }'
}
kernel_log_judge() { # cells
	local patterns
	patterns=$(grep -v '^#' "$here/peer_bugs" | cut -f 1 | grep . | paste -sd '|')
	tr -d '\r' <"$logs/$1/dmesg" | reports_sift "$patterns" >"$scratch/$1.sifted"
	grep '^# known trouble' "$scratch/$1.sifted"
	! grep -v '^#' "$scratch/$1.sifted" | grep -E "$trouble" | grep -vE 'traps: (qemu|iscsi)' | sed 's/^/# /' | grep .
}
guest_run() { # cells
	local status start=$SECONDS
	"$here/guest.sh" -t 2400 "$scratch/$1" "$logs/$1" >"$scratch/$1.tap" 2>&1
	status=$?
	[ -s "$logs/$1/dmesg" ] || cp "$logs/$1/console.log" "$logs/$1/dmesg" 2>/dev/null
	if [ $status -ne 0 ]; then
		echo "not ok - $1: the guest ran to the end of its job"
	else
		echo "ok - $1: the guest ran to the end of its job"
	fi >>"$scratch/$1.tap"
	if kernel_log_judge "$1" >"$scratch/$1.kernel"; then
		echo "ok - $1: the guest's kernel saw no trouble"
	else
		echo "not ok - $1: the guest's kernel saw no trouble"
	fi >>"$scratch/$1.tap"
	cat "$scratch/$1.kernel" >>"$scratch/$1.tap"
	times >"$scratch/$1.times"
	echo "# it took $((SECONDS - start)) s, of processors (user, system) $(tail -n 1 "$scratch/$1.times")" >>"$scratch/$1.tap"
	cp "$scratch/$1.tap" "$logs/$1/tap"
	echo "# $1: over after $((SECONDS - start)) s, $(grep -c '^not ok' "$scratch/$1.tap") failed"
}

count=0 failed=0
show() { # cells: its lines, counted anew
	local line
	echo "# ==== $1"
	while IFS= read -r line; do
		case $line in
		1..*) continue ;;
		"ok "*) count=$((count + 1)) && line="ok $count - ${line#*- }" ;;
		"not ok "*) count=$((count + 1)) failed=$((failed + 1)) && line="not ok $count - ${line#*- }" ;;
		esac
		printf '%s\n' "$line"
	done <"$scratch/$1.tap"
	grep -q '^not ok' "$scratch/$1.tap" && echo "# console and logs of $1: $logs/$1"
}

# A guest waits for half of its time: two more than there are CPUs, if they all have memory.
limit=$(($(nproc) + 2))
[ "$limit" -gt 6 ] && limit=6
room=$(awk '/^MemAvailable/ { print int($2 / 1600000) }' /proc/meminfo)
[ "$room" -ge "$limit" ] || limit=$((room > 1 ? room : 1))
for cells in "$@"; do
	file=$cells
	[ "${file#*/}" = "$file" ] && file=$here/cells/$cells
	[ -f "$file" ] || { echo "there is no list $file" >&2 && exit 2; }
	job_make "$file"
	while [ "$(jobs -rp | wc -l)" -ge "$limit" ]; do wait -n; done
	guest_run "$(basename "$cells")" &
done
wait
for cells in "$@"; do show "$(basename "$cells")"; done
echo "1..$count"
[ $failed -eq 0 ]
