#!/bin/bash
# Runs libFuzzer drivers in turn, with a line of progress for each and a summary.
#   tests/fuzz/run.sh DIRECTORY SECONDS [DRIVER...]
# DIRECTORY has the drivers; what they find new goes to DIRECTORY/corpus/NAME, what breaks something to
# DIRECTORY/findings/NAME-*, the log to DIRECTORY/NAME.log. Ends with 1 if anything broke.
set -u

BIN=$1
SECONDS_EACH=$2
shift 2
HERE=$(cd "$(dirname "$0")" && pwd)
cd "$HERE/../.." || exit 1
mkdir -p "$BIN/findings"

if [ $# -eq 0 ]; then
	for driver in "$HERE"/fuzz_*.c; do
		set -- "$@" "$(basename "$driver" .c)"
	done
fi

dictionary() { # the words of a driver's input
	case $1 in
	keys | login_* | chap | discovery_text) echo keys ;;
	cdb | mode_select | pr_out | scsi_data) echo scsi ;;
	pdu_stream | iwarp_stream | mpa | iser_header | target_* | initiator_*) echo pdu ;;
	*) echo "$1" ;;
	esac
}

stat_of() { # log name
	sed -n "s/^stat::$2: *//p" "$1"
}

number=0
broken=0
count=$#
for driver in "$@"; do
	name=${driver#fuzz_}
	log=$BIN/$name.log
	number=$((number + 1))
	words=$HERE/dictionary/$(dictionary "$name").dict
	mkdir -p "$BIN/corpus/$name"
	printf '[%d/%d] %-16s %s s ... ' "$number" "$count" "$name" "$SECONDS_EACH"
	"$BIN/$driver" -max_total_time="$SECONDS_EACH" -timeout=20 -rss_limit_mb=2000 -max_len=8192 -print_final_stats=1 \
		-artifact_prefix="$BIN/findings/$name-" ${words:+$([ -f "$words" ] && echo "-dict=$words")} \
		"$BIN/corpus/$name" "$HERE/corpus/$name" >"$log" 2>&1
	rc=$?
	cover=$(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1)
	echo "$(stat_of "$log" number_of_executed_units) runs, ${cover:-cov: 0}, $(stat_of "$log" new_units_added) new inputs"
	if [ $rc -ne 0 ]; then
		broken=$((broken + 1))
		echo "  BROKEN: $(grep -aE 'SUMMARY|does not hold' "$log" | head -n 2 | tr '\n' ' ')"
		echo "  $(grep -aoE 'Test unit written to .*' "$log" | tail -n 1); log: $log"
	fi
done
echo "$((number - broken)) drivers found nothing, $broken broke"
[ "$broken" -eq 0 ]
