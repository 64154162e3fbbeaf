#!/bin/bash
# Both daemons under everything at once: clients of libiscsi that log in, move data, are killed; iserd's logins over
# TCP and iSER; persons who ask, drop sessions, reload, change the log. Nothing ends before it is told to. Meant for
# ThreadSanitizer (VARIANT=tsan), which tells of itself by exit status 66 and in the logs. STRESS=1: for 60 seconds.
. "$(dirname "$0")/../kit/functions.sh"
require iscsi-inq iscsi-perf
SECONDS_ALL=${STRESS:+60}
SECONDS_ALL=${SECONDS_ALL:-3}
CLIENTS=12

truncate -s 64M "$W/disk"
cat >"$W/isertd.yaml" <<Y
portals: ["127.0.0.1:0"]
loops: 3
targets:
  - name: $IQN
    luns:
      - {lun: 0, backend: memory, size: 64M}
      - {lun: 1, backend: file, path: "$W/disk"}
Y
start_isertd --config "$W/isertd.yaml" || exit 1
UNTIL=$(($(date +%s) + SECONDS_ALL))

again() { # COMMAND...: until the time is over; how often it was run
	local n=0
	while [ "$(date +%s)" -lt "$UNTIL" ]; do
		"$@" >/dev/null 2>&1
		n=$((n + 1))
	done
	echo "$n" >>"$W/rounds"
}
client() { # NUMBER: a session that ends well, and one that does not
	local url=iscsi://$PORTAL/$IQN/$(($1 % 2))
	iscsi-inq -i "iqn.2026-11.org.iseran:client$1" "$url"
	timeout -s KILL "0.$((1 + $1 % 5))" iscsi-perf -i "iqn.2026-11.org.iseran:client$1" -m 4 -b 16 "$url"
}
person() {
	for verb in show sessions stats "log debug" "log info" reload; do
		# shellcheck disable=SC2086
		isertadm $verb
	done
	isertadm drop "iqn.2026-11.org.iseran:client$((RANDOM % CLIENTS))"
}
initiator() { # TRANSPORT
	iseradm -m node -T "$IQN" -p "$PORTAL" -I "$1" --login
	iseradm -m session -P 3
	iseradm -m session --json
	iseradm -m node -T "$IQN" -p "$PORTAL" --logout --force
}

iseradm -m discovery -t sendtargets -p "$PORTAL" >/dev/null
clients=()
for ((i = 0; i < CLIENTS; i++)); do
	again client "$i" &
	clients+=($!)
done
for command in person person "initiator tcp" "initiator iser"; do
	# shellcheck disable=SC2086
	again $command &
	clients+=($!)
done
wait "${clients[@]}"
echo "# rounds of each: $(tr "\n" " " <"$W/rounds")"

check "everybody came round" test "$(wc -l <"$W/rounds")" -eq "${#clients[@]}"
check "both daemons are there" sh -c "kill -0 $TARGET_PID && iseradm -m daemon -o status || iseradm -m session -P 0 ||
	test \$? -eq 5"
check "a client is served" iscsi-inq "iscsi://$PORTAL/$IQN/0"
check "no session of a killed client is left" wait_for 60 sh -c \
	"! isertadm sessions | grep -q iqn.2026-11.org.iseran:client"
timeout 30 iseradm -m node --logout all --force >/dev/null 2>&1
check "iserd ends when it is told to" iseradm -m daemon -o stop
end_process "$TARGET_PID" TERM
check "isertd ends with 0" test $? -eq 0
check "no data race" sh -c "! grep -A 40 ThreadSanitizer $W/isertd.log $W/run/*.log"
