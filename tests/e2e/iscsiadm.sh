#!/bin/bash
# What people and scripts type who know iscsiadm: its forms of discovery, records, logins and sessions, the
# exit statuses they compare with, and the lines they take apart. And records that somebody has spoilt.
. "$(dirname "$0")/../kit/functions.sh"

truncate -s 64M "$W/disk"
cat >"$W/isertd.yaml" <<Y
portals: ["127.0.0.1:0"]
targets:
  - name: $IQN
    luns: [{lun: 0, path: $W/disk}]
  - name: $IQN.other
    luns: [{lun: 0, backend: memory, size: 16M}]
  - name: $IQN.secret
    chap: {name: alice, secret: wonderland12}
    luns: [{lun: 0, backend: memory, size: 16M}]
Y
chmod 600 "$W/isertd.yaml"
start_isertd --config "$W/isertd.yaml" || exit 1
st="-t sendtargets -p $PORTAL"

# ---- discovery ----
# shellcheck disable=SC2086 # $st is several words
{
	check_says "discoverydb: no record yet" "$STATUS_NOT_FOUND" 'No records found' iseradm -m discoverydb $st
	check_says "discoverydb -o new" 0 "^New discovery record for \[127.0.0.1,$PORT\] added" iseradm -m discoverydb $st -I default -o new
	check_says "discoverydb -o new once more" 0 'added' iseradm -m discoverydb $st -I default -o new
	check "discoverydb -o update" iseradm -m discoverydb $st -o update -n discovery.sendtargets.timeo.login_timeout -v 9
	check_says "discoverydb -o show" 0 '^discovery.sendtargets.timeo.login_timeout = 9$' iseradm -m discoverydb $st -o show
	check_says "discoverydb --discover" 0 "^$PORTAL,1 $IQN\$" iseradm -m discoverydb $st -I default --discover
	check_says "its record kept what was set" 0 'login_timeout = 9$' iseradm -m discovery $st -o show
	check_says "the records are of the interface that was asked for" 0 'Iface Name: default' iseradm -m node -P 1
	check_says "discovery -P 1" 0 "^DiscoveryAddress: 127.0.0.1,$PORT\$" iseradm -m discovery -P 1
	check_says "discovery without -I is over iSER" 0 "^$PORTAL,1 $IQN\$" iseradm -m discovery $st
	check_says "and so are its records now" 0 'Iface Name: iser' iseradm -m node -P 1
	check_says "discovery --op=nonpersistent" 0 "$IQN.other" iseradm --mode discovery --op=nonpersistent --type st --portal "$PORTAL"
	check "discovery -o delete" iseradm -m discovery $st -o delete
	check_says "and its record is gone" "$STATUS_NOT_FOUND" 'No records found' iseradm -m discovery $st -o delete
}
check_says "discovery -P 1 while asking" 0 'Iface Name: iser' iseradm -m discovery -t st -p "$PORTAL" -P 1
check_says "isns is no type" "$STATUS_DISCOVERY_TYPE" 'sendtargets' iseradm -m discovery -t isns -p "$PORTAL"

# ---- interfaces, and modes that there are not ----
check_says "iface" 0 '^default tcp,<empty>,<empty>,<empty>,<empty>$' iseradm -m iface
check_says "iface -o show" 0 '^iface.transport_name = iser$' iseradm -m iface -I iser -o show
check_says "iface -o new" "$STATUS_UNSUPPORTED" 'all the interfaces' iseradm -m iface -I mine -o new
check_says "fw" "$STATUS_UNSUPPORTED" 'firmware' iseradm -m fw
check_says "host" "$STATUS_UNSUPPORTED" 'session -P 3' iseradm -m host -P 4

# ---- records ----
check_says "node -P 0" 0 "^$PORTAL,1 $IQN.secret\$" iseradm -m node -P 0
check "an update of all records, of two settings" iseradm -m node -o update \
	-n node.startup -v automatic -n node.session.timeo.replacement_timeout -v 77
check "is in all of them" sh -c "test \$(grep -rl 'replacement_timeout = 77' $W/state/nodes | wc -l) -eq 3"
check_says "more sessions than one" "$STATUS_USAGE" 'one session per record' \
	iseradm -m node -T "$IQN" -o update -n node.session.nr_sessions -v 4
iseradm -m node -T "$IQN.other" -o update -n node.startup -v manual
iseradm -m node -T "$IQN.secret" -o update -n node.startup -v onboot -n node.session.auth.authmethod -v CHAP \
	-n node.session.auth.username -v alice -n node.session.auth.password -v wonderland12

# ---- sessions ----
check_says "no session" "$STATUS_NOT_FOUND" '^iseradm: No active sessions\.$' iseradm -m session
check_says "a session that there is not" "$STATUS_NO_SESSION" 'no session 99' iseradm -m session -r 99
check_says "nor to log out" "$STATUS_NO_SESSION" 'no session 99' iseradm -m session -r 99 -u
check_says "no session to log out" "$STATUS_NOT_FOUND" 'No matching sessions' iseradm -m node -u
check_says "loginall=automatic" 0 "^Login to \[iface: iser, target: $IQN, portal: 127.0.0.1,$PORT\] successful\.\$" \
	iseradm -m node --loginall=automatic
check_says "that was one session" 0 '^1$' sh -c 'iseradm -m session | wc -l'
check_says "a second login" "$STATUS_EXISTS" 'already' iseradm -m node -T "$IQN" -p "$PORTAL" -l
check_says "loginall=manual" 0 "$IQN.other.*successful" iseradm -m node -L manual
check_says "loginall=onboot" 0 "$IQN.secret.*successful" iseradm -m node -L onboot
sid=$(iseradm -m session | sed -nE "s/^iser: \[([0-9]+)\] $PORTAL,1 $IQN.secret \(non-flash\)\$/\1/p")
check "the session's number is where scripts look for it" test -n "$sid"
check_says "-P 2 has the time-outs" 0 '^		Recovery Timeout: 77$' iseradm -m session -P 2
check_says "and the CHAP name" 0 '^		username: alice$' iseradm -m session -r "$sid" -P 2
check "but no secret" sh -c "! iseradm -m session -P 3 | grep -q wonderland && ! iseradm -m session --json | grep -q wonderland"
check_says "session -r -s" 0 "sid: $sid, target: $IQN.secret" iseradm -m session -r "$sid" -s
check_says "session -r -R" 0 "Rescan of \[sid: $sid, .*successful" iseradm -m session -r "$sid" -R
check_says "node -s" 0 "target: $IQN.other" iseradm -m node -T "$IQN.other" -s
if have_block_devices; then
	disk=$(iseradm -m session -P 3 | awk '/Attached scsi disk/ { print $4; exit }')
	check "the device's name is where scripts look for it" test -b "/dev/$disk"
fi
check_says "the record of a session is not deleted" "$STATUS_EXISTS" "used by session $sid" \
	iseradm -m node -T "$IQN.secret" -o delete
check_says "session -r -u" 0 "^Logout of \[sid: $sid, .*successful" iseradm -m session -r "$sid" -u
check_says "logoutall=manual" 0 "$IQN.other.*successful" iseradm -m node --logoutall=manual
check_says "what is left" 0 " $IQN " iseradm -m session
check_says "logoutall=all" 0 "$IQN,.*successful" iseradm -m node -U all
check_says "logoutall without sessions" "$STATUS_NOT_FOUND" 'No matching sessions' iseradm -m node -U all

# ---- nobody listens ----
dead=127.0.0.1:$(free_port)
iseradm -m node -T "$IQN.dead" -p "$dead" -o new >/dev/null
start=$(date +%s%N)
check_says "a login where nobody listens" "$STATUS_UNREACHABLE" 'connection refused' iseradm -m node -T "$IQN.dead" -l
check "ends soon" test $((($(date +%s%N) - start) / 1000000)) -lt 8000
check "and tells of its attempts who wants to know" sh -c \
	"iseradm -m node -T $IQN.dead -l -d 1 2>&1 | grep -q 'connection refused.*attempt 8 of 8 follows'"
iseradm -m node -T "$IQN.dead" -o delete

# ---- a record that cannot be used is in nobody's way ----
file=$(find "$W/state/nodes/$IQN.other" -type f)
sed -i '3s/.*/node.nonsense = 1/' "$file"
warns() { # NAME PATTERN COMMAND...: it works, says PATTERN, and warns once, with file and line
	local name=$1 pattern=$2
	shift 2
	check_says "$name" 0 "$pattern" "$@"
	check "$name: one warning with file and line" sh -c \
		"test \$(grep -c 'warning: $file:3: .*node.nonsense.*passed over' $W/says.err) = 1 && test \$(wc -l <$W/says.err) = 1"
}
warns "a discovery" "$PORTAL,1 $IQN.other\$" iseradm -m discovery -t st -p "$PORTAL"
warns "a list" "$PORTAL,1 $IQN.secret\$" iseradm -m node
warns "an update of all" '' iseradm -m node -o update -n node.session.cmds_max -v 64
warns "logins" "$IQN.secret.*successful" iseradm -m node -l
for action in "" --login "-o update -n node.startup -v manual"; do
	# shellcheck disable=SC2086 # several words, or none
	check_says "that record alone (${action:-shown})" "$STATUS_DATABASE" "$file:3: .*node.nonsense" \
		iseradm -m node -T "$IQN.other" $action
done
check_says "a job that needs it" "$STATUS_DATABASE" "$file:3: .*node.nonsense" \
	iseradm -m lun -T "$IQN.other" -p "$PORTAL" -o list
check "it can be deleted" iseradm -m node -T "$IQN.other" -p "$PORTAL" -o delete
check "and its file is gone" test ! -e "$file"
