#!/bin/bash
# libiscsi's conformance suite against isertd over TCP. One line per test of the suite.
. "$(dirname "$0")/../kit/functions.sh"
require iscsi-test-cu

truncate -s 128M "$W/disk" "$W/disk2"
start_isertd --portal 127.0.0.1:0 --target "$IQN" --lun "0=file=$W/disk" || exit 1

families="Mandatory Inquiry ModeSense6 ReadCapacity10 ReadCapacity16 TestUnitReady
	Read6 Read10 Read12 Read16 Write10 Write12 Write16 WriteVerify10 WriteVerify12 WriteVerify16
	Verify10 Verify12 Verify16 Unmap WriteSame10 WriteSame16 CompareAndWrite StartStopUnit NoMedia
	ReportSupportedOpcodes PrinReadKeys PrinReportCapabilities PrinServiceactionRange ProutRegister ProutReserve
	ProutClear ProutPreempt Reserve6 OrWrite Prefetch10 Prefetch16 GetLBAStatus PreventAllow ReadOnly
	iSCSIcmdsn iSCSIdatasn iSCSIResiduals iSCSITMF"
available=$(iscsi-test-cu -l 2>/dev/null)

# GetLBAStatus.UnmapSingle asks for the status from LBA i + 1 on and wants a descriptor that begins at i + 8 whatever
# the size of the physical block; SBC-3 5.4 lets the first descriptor begin at the LBA that was asked for.
known="GetLBAStatus.UnmapSingle"

for family in $families; do
	grep -qE "ALL\.$family$" <<<"$available" || continue
	timeout -k 5 60 iscsi-test-cu -d -t "ALL.$family" "iscsi://$PORTAL/$IQN/0" >"$W/cu" 2>&1
	status=$?
	# "  Test: Name ...passed" with "[SKIPPED]" lines before it, or "FAILED".
	awk -v family="$family" -v status=$status '
	/Test: .*\.\.\./ {
		name = $0; sub(/^.*Test: /, "", name); sub(/ ?\.\.\..*/, "", name)
		skipped = ""
		open = name
	}
	/\[SKIPPED\]/ { skipped = $0; sub(/.*\[SKIPPED\] */, "", skipped) }
	/(^|\.\.\.)passed/ && open != "" { print (skipped == "" ? "pass" : "skip") "\t" family "." open "\t" skipped; open = "" }
	/(^|\.\.\.|[^[])FAILED$/ && open != "" { print "fail\t" family "." open "\t"; open = "" }
	END {
		if (open != "") print "fail\t" family "." open "\tthe tool ended with " status
		else if (status >= 124) print "fail\t" family "\tthe tool ended with " status
	}' "$W/cu" >"$W/rows"
	while IFS=$'\t' read -r verdict name reason; do
		case $verdict in
		pass) pass "$name" ;;
		skip) skip "$name" "${reason:-the suite skips it}" ;;
		fail)
			grep -qxF "$name" <<<"$known" && skip "$name" "the suite's own fault, see this script" && continue
			fail "$name" "$reason"
			grep -B 2 -A 12 "Test: ${name#*.} " "$W/cu" | head -n 30 | sed 's/^/# /'
			;;
		esac
	done <"$W/rows"
done
