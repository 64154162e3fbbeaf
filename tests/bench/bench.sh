#!/bin/bash
# `make bench`: the same work on Iseran and on tgt, turn by turn on this machine, memory-backed, both sides pinned to
# a CPU of their own where there are two. Prints medians, spread and ratios; writes OUT/results.json.
#   tests/bench/bench.sh BUILD OUT
# ROUNDS (3), SECONDS_EACH (2), SIZE (1G), WORKS, SUBJECTS (all) and REALTIME may be set in the environment.
set -u

bin=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
rounds=${ROUNDS:-3}
seconds=${SECONDS_EACH:-2}
size=${SIZE:-1G}
works=${WORKS:-4k-randread-q1 4k-randread-q32 4k-randwrite-q32 64k-read-q8 1m-read-q8 1m-write-q8}
subjects=${SUBJECTS:-iseran-iser iseran-tcp isertd+iscsi-perf tgtd+iscsi-perf tgtd+iseradm}
iqn=iqn.2026-11.org.iseran:bench

work=$(mktemp -d /tmp/iseran-bench.XXXXXX) || exit 1
store=$(mktemp /dev/shm/iseran-bench.XXXXXX) || exit 1
export PATH=$bin:$PATH ISERAN_STATE_DIR=$work/state ISERAN_RUNTIME_DIR=$work/run ISERTD_CONTROL=$work/isertd.sock
mkdir -p "$work/state" "$work/run"
pids=()
# shellcheck disable=SC2317
clean_up() {
	trap - EXIT INT TERM
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
	for p in "${pids[@]}"; do # tgtd does not heed SIGTERM
		for _ in $(seq 100); do kill -0 "$p" 2>/dev/null || break; sleep 0.05; [ "$p" = "${tgtd_pid-}" ] && break; done
		kill -KILL "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	rm -rf "$work" "$store"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
die() { echo "bench: $*" >&2 && exit 1; }
wait_for() { # command...: at most 10 s
	for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done
	return 1
}

pin_target="" pin_client=""
[ "$(nproc)" -ge 2 ] && command -v taskset >/dev/null && pin_target="taskset -c 0" pin_client="taskset -c 1"
# REALTIME=1: all subjects under SCHED_FIFO, for a machine that has other work; a saturated side then gets 95 % of its CPU.
[ -n "${REALTIME-}" ] && pin_target="chrt -f 20 $pin_target" pin_client="chrt -f 20 $pin_client"

# ---- the two targets ----
echo "bench: filling $size of random data"
head -c "$size" /dev/urandom >"$store" || die "no room for $size in /dev/shm; set SIZE"
$pin_target isertd --portal 127.0.0.1:0 --loops 1 --target "$iqn" --lun "1=memory=$size" --port-file "$work/port" \
	>"$work/isertd.log" 2>&1 &
isertd_pid=$!
pids+=("$isertd_pid")
wait_for test -s "$work/port" || die "isertd did not start: $(tail -n 1 "$work/isertd.log")"
isertd=127.0.0.1:$(head -n 1 "$work/port")

control=$((RANDOM % 20000 + 100))
tgtd_port=$((RANDOM % 20000 + 20000))
mkdir -p /run/tgtd
$pin_target tgtd -f -C $control --iscsi portal=127.0.0.1:$tgtd_port >"$work/tgtd.log" 2>&1 &
tgtd_pid=$!
pids+=("$tgtd_pid")
adm() { tgtadm -C $control --lld iscsi "$@"; }
wait_for adm --op show --mode sys || die "tgtd did not start: $(tail -n 1 "$work/tgtd.log")"
adm --op new --mode target --tid 1 -T $iqn && adm --op new --mode logicalunit --tid 1 --lun 1 -b "$store" &&
	adm --op bind --mode target --tid 1 -I ALL || die "tgtd could not be configured"
tgtd=127.0.0.1:$tgtd_port

$pin_client iserd >"$work/iserd.log" 2>&1 &
iserd_pid=$!
pids+=("$iserd_pid")
wait_for test -S "$work/run/iserd.sock" || die "iserd did not start: $(tail -n 1 "$work/iserd.log")"
iseradm -m discovery -t st -p "$isertd" >/dev/null && iseradm -m discovery -t st -p "$tgtd" -I tcp >/dev/null ||
	die "discovery failed"
iseradm -m lun -o copy-in -T $iqn -p "$isertd" -I tcp -l 1 --file "$store" >/dev/null || die "the LUN could not be filled"

cpu_ms() { # of a process, in milliseconds
	awk -v hz="$(getconf CLK_TCK)" '{sub(/^.*\) /, ""); print ($12 + $13) * 1000 / hz}' "/proc/$1/stat"
}
# run SUBJECT WORK: appends one JSON row to $work/rows
run() {
	local subject=$1 bs blocks rw depth portal target_pid t0 c0 t1 c1 json iops mbs p50 p99 options
	case $2 in
	4k-*) bs=4K blocks=8 ;;
	64k-*) bs=64K blocks=128 ;;
	1m-*) bs=1M blocks=2048 ;;
	esac
	rw=${2#*-} rw=${rw%-q*} depth=${2##*-q}
	case $subject in
	tgtd*) portal=$tgtd target_pid=$tgtd_pid ;;
	*) portal=$isertd target_pid=$isertd_pid ;;
	esac
	p50=null p99=null
	t0=$(cpu_ms "$target_pid")
	case $subject in
	*iscsi-perf)
		case $rw in *write) return 0 ;; esac # it only reads
		options=""
		[ "$rw" = randread ] && options=-r
		{ TIMEFORMAT='%U %S' && time $pin_client iscsi-perf -m "$depth" -b $blocks -t "$seconds" $options \
			"iscsi://$portal/$iqn/1" >"$work/perf" 2>&1; } 2>"$work/time"
		iops=$(tr '\r' '\n' <"$work/perf" | grep -oE 'iops average [0-9]+' | tail -n 1 | grep -oE '[0-9]+$')
		[ -n "$iops" ] || die "iscsi-perf said: $(tail -c 300 "$work/perf")"
		c0=0
		c1=$(awk '{print ($1 + $2) * 1000}' "$work/time")
		;;
	*)
		case $subject in *iser) options="-I iser" ;; *) options="-I tcp" ;; esac
		c0=$(cpu_ms "$iserd_pid")
		json=$(iseradm -m lun -o bench -T $iqn -p "$portal" $options -l 1 --rw "$rw" --bs $bs --iodepth "$depth" \
			--runtime "$seconds" --json) || die "$subject $2: $json"
		c1=$(cpu_ms "$iserd_pid")
		iops=$(jq -r .iops <<<"$json") p50=$(jq -r .p50_us <<<"$json") p99=$(jq -r .p99_us <<<"$json")
		;;
	esac
	t1=$(cpu_ms "$target_pid")
	mbs=$(awk -v i="$iops" -v b=$blocks 'BEGIN {print i * b * 512 / 1e6}')
	jq -cn --arg s "$subject" --arg w "$2" --argjson iops "$iops" --argjson mb "$mbs" --argjson p50 "$p50" --argjson p99 "$p99" \
		--argjson ios "$(awk -v i="$iops" -v s="$seconds" 'BEGIN {print i * s + 1}')" \
		--argjson t "$(awk -v a="$t1" -v b="$t0" 'BEGIN {print a - b}')" \
		--argjson c "$(awk -v a="$c1" -v b="$c0" 'BEGIN {print a - b}')" \
		'{subject: $s, work: $w, iops: $iops, mb_s: $mb, p50_us: $p50, p99_us: $p99,
		  cpu_target_s_per_mio: ($t / 1000 / $ios * 1e6), cpu_client_s_per_mio: ($c / 1000 / $ios * 1e6)}' >>"$work/rows"
}

total=$((rounds * $(wc -w <<<"$works") * $(wc -w <<<"$subjects")))
done_=0
for ((round = 1; round <= rounds; round++)); do
	for w in $works; do
		for s in $subjects; do
			done_=$((done_ + 1))
			[ -t 2 ] && printf '\rbench: %d of %d: round %d, %s, %s    \033[K' $done_ $total "$round" "$w" "$s" >&2
			run "$s" "$w"
		done
	done
done
[ -t 2 ] && printf '\r\033[K' >&2

jq -s 'def median: sort | if length == 0 then null else .[(length - 1) / 2 | floor] end;
	group_by([.subject, .work]) | map({subject: .[0].subject, work: .[0].work,
		iops: (map(.iops) | median), mb_s: (map(.mb_s) | median),
		p50_us: (map(.p50_us) | map(select(. != null)) | median), p99_us: (map(.p99_us) | map(select(. != null)) | median),
		cpu_target_s_per_mio: (map(.cpu_target_s_per_mio) | median), cpu_client_s_per_mio: (map(.cpu_client_s_per_mio) | median),
		iops_low: (map(.iops) | min), iops_high: (map(.iops) | max), rounds: length})' "$work/rows" >"$out/results.json"

printf '%-18s %-17s %9s %9s %9s %9s %8s %8s  %s\n' work subject IOPS MB/s 'p50 us' 'p99 us' 'tgt s/M' 'cli s/M' 'spread (low-high of the median)'
for w in $works; do
	jq -r --arg w "$w" '.[] | select(.work == $w) | [.work, .subject, (.iops | round), (.mb_s | round), (.p50_us // "-"), (.p99_us // "-"),
		(.cpu_target_s_per_mio * 10 | round / 10), (.cpu_client_s_per_mio * 10 | round / 10),
		"\(.iops_low / .iops * 100 | round / 100)-\(.iops_high / .iops * 100 | round / 100)"] | @tsv' "$out/results.json" |
		while IFS=$'\t' read -r a b c d e f g h i; do
			printf '%-18s %-17s %9s %9s %9s %9s %8s %8s  %s\n' "$a" "$b" "$c" "$d" "$e" "$f" "$g" "$h" "$i"
		done
done
echo
echo "Ratios of medians (1 = as fast):"
jq -r --arg works "$works" '. as $all | def v($s; $w): ($all[] | select(.subject == $s and .work == $w) | .iops) // null;
	def r($a; $b; $w): v($a; $w) as $x | v($b; $w) as $y | if $x == null or $y == null then empty else
		"  \($w): \($a) is \($x / $y * 100 | round / 100) of \($b)" end;
	($works | split(" ")[]) as $w |
	r("isertd+iscsi-perf"; "tgtd+iscsi-perf"; $w), (if ($w | test("write")) then r("iseran-iser", "iseran-tcp"; "tgtd+iseradm"; $w)
	else r("iseran-iser", "iseran-tcp"; "tgtd+iscsi-perf"; $w) end)' "$out/results.json"
echo "Written: $out/results.json"
