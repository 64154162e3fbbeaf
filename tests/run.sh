#!/bin/bash
# Runs test programs and scripts, all of which print TAP, and ends with "N passed, N failed, N skipped".
#   tests/run.sh [-j JOBS] [-l LABEL] [-t SECONDS] PROGRAM... [-- [-l LABEL] PROGRAM... ]
# SECONDS is the most that a program may take. Of one that takes long a line tells every minute how far it is.
# A program that ends with 77 is skipped whole (its last line says why); one that ends badly without a
# "not ok" line counts as one failure. Output of failed programs is printed, and kept in $LOGS.
set -u

LOGS=${LOGS:-build/logs}
LIMIT=${LIMIT:-900} # seconds for one program, on a busy machine
mkdir -p "$LOGS"
results=$(mktemp)
trap 'rm -f "$results"' EXIT

tell_progress() { # name label log
	local start=$SECONDS
	while sleep 2 >/dev/null 2>&1; do
		[ $(((SECONDS - start) % 60)) -lt 2 ] && [ $((SECONDS - start)) -ge 60 ] &&
			printf '  ...   %s (%s): %d s; %s\n' "$1" "$2" $((SECONDS - start)) "$(tail -n 1 "$3" | cut -c 1-120)"
	done
}

run_one() { # label program
	local label=$1 program=$2 name log rc ok bad skip start teller
	name=${program#build/*/}
	name=${name#./}
	log=$LOGS/$label-$(echo "$name" | tr / _).log
	start=$(date +%s)
	: >"$log"
	tell_progress "$name" "$label" "$log" &
	teller=$!
	CMOCKA_MESSAGE_OUTPUT=TAP VARIANT=$label timeout -k 10 "$LIMIT" "$program" >"$log" 2>&1 </dev/null
	rc=$?
	kill $teller
	wait $teller 2>/dev/null
	skip=$(grep -ciE '^(not )?ok\b.*# *skip' "$log")
	bad=$(grep -iE '^not ok\b' "$log" | grep -civE '# *skip')
	ok=$(grep -iE '^ok\b' "$log" | grep -civE '# *skip')
	if [ $rc -eq 77 ]; then
		skip=$((skip + 1))
		printf '  SKIP  %s (%s): %s\n' "$name" "$label" "$(tail -n 1 "$log")"
	elif [ $rc -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	fi
	grep -iE '^(not )?ok\b.*# *skip' "$log" | sed "s|^|  SKIP  $name: |"
	if [ "$bad" -ne 0 ]; then
		printf '  FAIL  %s (%s), exit status %d%s; log: %s\n' "$name" "$label" "$rc" \
			"$([ $rc -eq 124 ] && echo " (took longer than $LIMIT s)")" "$log"
		grep -iE '^not ok\b' "$log" | head -n 20
		tail -n 40 "$log" | sed 's/^/    /'
	else
		printf '  ok    %s (%s): %d in %d s\n' "$name" "$label" "$ok" $(($(date +%s) - start))
	fi
	echo "$ok $bad $skip" >>"$results"
}

jobs=1
label=release
running=0
for arg in "$@"; do
	case "${expect-}" in
	-j) jobs=$arg expect="" && continue ;;
	-l) label=$arg expect="" && continue ;;
	-t) LIMIT=$arg expect="" && continue ;;
	esac
	case "$arg" in
	-j | -l | -t) expect=$arg ;;
	--) wait && running=0 ;;
	*)
		if [ "$running" -ge "$jobs" ]; then
			wait -n
			running=$((running - 1))
		fi
		run_one "$label" "$arg" &
		running=$((running + 1))
		;;
	esac
done
wait
awk '{p += $1; f += $2; s += $3} END {printf "%d passed, %d failed, %d skipped\n", p, f, s; exit (f > 0 || p == 0)}' "$results"
