#!/bin/bash
# Every mistake of a person gets one clear line (what, where, what would be right) and an exit status that a script
# can rely on; nothing is half done.
. "$(dirname "$0")/../kit/functions.sh"

truncate -s 64M "$W/disk"
cat >"$W/isertd.yaml" <<Y
portals: ["127.0.0.1:0"]
targets:
  - name: $IQN
    luns:
      - lun: 0
        path: $W/disk
  - name: $IQN.secret
    chap: {name: alice, secret: wonderland12}
    luns: [{lun: 0, backend: memory, size: 16M}]
  - name: $IQN.closed
    initiators: [iqn.1999-01.com.example:somebody]
    luns: [{lun: 0, backend: memory, size: 16M}]
Y
chmod 600 "$W/isertd.yaml"
check "isertd --check accepts a right file" isertd --check --config "$W/isertd.yaml"
start_isertd --config "$W/isertd.yaml" || exit 1
node() { iseradm -m node -p "$PORTAL" "$@"; }
record() { node -T "$1" -o new >/dev/null; }

# ---- the command line ----
check_says "no mode" "$STATUS_USAGE" 'mode' iseradm
check_says "an unknown option, with the nearest" "$STATUS_USAGE" 'login' iseradm -m node --logni
check_says "an unknown mode, with the nearest" "$STATUS_USAGE" 'session' iseradm -m sesion
check_says "an unknown operation" "$STATUS_USAGE" 'show|update' iseradm -m node -o shwo
check_says "a value that is missing" "$STATUS_USAGE" 'value|needs' iseradm -m node -T
check_says "help where a mode is wanted" 0 'discovery' iseradm -m --help
check_says "a list that does not fit on its disk" 1 'standard output: No space' sh -c 'iseradm --help >/dev/full'
check_says "isertadm's, too" 1 'standard output: No space' sh -c 'isertadm --help >/dev/full'
check_says "isertd: an unknown option" 2 'portal' isertd --protal x
check_says "isertd: nothing to export" 2 'config|target' isertd --portal 127.0.0.1:0
check_says "isertadm: an unknown verb" 2 'sessions' isertadm sesions
while read -r number text; do
	check "the manual tells of exit status $number" sh -c "grep -A 1 -F -x '*$number*' '$ROOT/docs/man/iseradm.8.scd' | grep -qiF '$text'"
done < <(iseradm --help | sed '1,/^Exit statuses/d')
for program in isertd isertadm iserd iseradm; do
	check "$program --help ends well" $program --help
	check "$program --version ends well" $program --version
done

# ---- portals ----
check_says "nobody listens on the port" "$STATUS_UNREACHABLE" 'refused' iseradm -m discovery -t st -p "127.0.0.1:$(free_port)"
check_says "a malformed portal" "$STATUS_USAGE" 'portal|address' iseradm -m discovery -t st -p 127.0.0.1:99999
check_says "a host name that does not exist" "$STATUS_UNREACHABLE" 'no-such-host' iseradm -m discovery -t st -p no-such-host.invalid
# It answers the first bytes as web servers do that check the method at once.
cat >"$W/web.py" <<'P'
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
for _ in range(8):
    c, _ = s.accept()
    c.recv(4096)
    c.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: web\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    c.close()
P
python3 "$W/web.py" >"$W/web.port" &
PIDS+=($!)
wait_for 60 test -s "$W/web.port"
for transport in iser tcp; do
	check_says "a web server on the port ($transport)" "$STATUS_LOGIN" 'iSCSI|iSER|MPA' \
		timeout 30 iseradm -m discovery -t st -p "127.0.0.1:$(cat "$W/web.port")" -I $transport
done

# ---- targets ----
record "$IQN.nobody"
check_says "a wrong target name" "$STATUS_LOGIN_FATAL" 'no such target|not found' node -T "$IQN.nobody" --login
check_says "a malformed target name" "$STATUS_USAGE" 'iqn' node -T wrong_name -o new
check_says "a login without a record says to discover first" "$STATUS_NOT_FOUND" 'record|discover' iseradm -m node -T "$IQN.never" -p "$PORTAL" --login
record "$IQN.closed"
check_says "the access list refuses" "$STATUS_AUTH" 'access|not allowed|authoriz' node -T "$IQN.closed" --login
record "$IQN.secret"
check_says "CHAP is wanted and none is set" "$STATUS_AUTH" 'CHAP' node -T "$IQN.secret" --login
node -T "$IQN.secret" -o update -n node.session.auth.authmethod -v CHAP >/dev/null
node -T "$IQN.secret" -o update -n node.session.auth.username -v alice >/dev/null
node -T "$IQN.secret" -o update -n node.session.auth.password -v notthissecret >/dev/null
check_says "a wrong secret" "$STATUS_AUTH" 'secret' node -T "$IQN.secret" --login
check_says "no secret in what is shown" 0 'node.session.auth.password = \*+' node -T "$IQN.secret"
check "the record is readable by its owner alone" sh -c "! find '$W/state' -type f -perm /077 | grep -q ."
node -T "$IQN.secret" -o update -n node.session.auth.password -v wonderland12 >/dev/null
check "the right secret lets in" node -T "$IQN.secret" --login
check "logout" node -T "$IQN.secret" --logout
check_says "an unknown setting, with the nearest" "$STATUS_USAGE" 'node.startup' node -T "$IQN.secret" -o update -n node.starup -v manual
check_says "a value out of range" "$STATUS_USAGE" 'node.startup|manual' node -T "$IQN.secret" -o update -n node.startup -v sometimes
check_says "logout without a session" "$STATUS_NOT_FOUND" 'session' node -T "$IQN" --logout
check_says "a LUN that is not there" "$STATUS_NOT_FOUND" 'LUN|lun' iseradm -m lun -o read -T "$IQN" -p "$PORTAL" -l 9 --length 4K --file "$W/x"
truncate -s 128M "$W/large"
check_says "an image that is too large: nothing is written" "$STATUS_USAGE" 'large' \
	iseradm -m lun -o copy-in -T "$IQN" -p "$PORTAL" -l 0 --file "$W/large"
check_says "an image that is missing" "$STATUS_USAGE" 'No such file' \
	iseradm -m lun -o copy-in -T "$IQN" -p "$PORTAL" -l 0 --file "$W/none"

file=$(find "$W/state/nodes/$IQN.closed" -type f)
cp "$file" "$W/kept"
printf 'garbage\0' >"$file"
check_says "a record that is no text" "$STATUS_DATABASE" 'no text; remove' node -T "$IQN.closed"
: >"$file"
check_says "a record that is empty" "$STATUS_DATABASE" 'mend it, or remove' node -T "$IQN.closed"
cp "$W/kept" "$file"

# ---- the target's side ----
quick() { timeout 60 isertd --portal 127.0.0.1:0 --target "$IQN" --control "$W/second.sock" --lun "$1"; }
check_says "a missing image" 2 'none.*no such file' quick "0=file=$W/none"
: >"$W/empty"
check_says "an empty image" 2 'empty' quick "0=file=$W/empty"
if [ "$(id -u)" -eq 0 ] && loop=$(losetup -f) 2>/dev/null; then
	check_says "a loop device that nothing is attached to" 2 'empty; attach' quick "0=file=$loop"
fi
check_says "an image that is a directory" 2 'directory' quick "0=file=$W"
check_says "an image that another isertd has" 2 'use' quick "0=file=$W/disk"
check_says "the port is in use" 1 'in use' timeout 60 isertd --portal "$PORTAL" --target "$IQN" --control "$W/second.sock" --lun 0=memory=1M
check_says "two daemons with one control socket" 1 'another isertd' \
	timeout 60 isertd --portal 127.0.0.1:0 --target "$IQN" --lun 0=memory=1M
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 600 "$W/disk" && chmod 755 "$W"
	check_says "an image without permission" 2 'ermission' setpriv --reuid 65534 --regid 65534 --clear-groups \
		timeout 60 "$BIN/isertd" --portal 127.0.0.1:0 --target "$IQN" --control /tmp/iseran-nobody.$$ --lun "0=file=$W/disk"
fi
check_says "two iserd with one runtime directory" 6 'another iserd' timeout 60 iserd

# ---- the configuration: all mistakes at once, each with its line ----
cat >"$W/wrong.yaml" <<Y
portals: ["127.0.0.1:0"]
loop: 2
targets:
  - name: not-an-iqn
    luns:
      - lun: 99999
        path: $W/none
      - lun: 1
        backend: memory
        size: 10Q
Y
isertd --check --config "$W/wrong.yaml" >"$W/out" 2>&1
check "a wrong configuration is refused with status 2" test $? -eq 2
for line in 2 4 6 10; do
	check "its mistake on line $line is told" grep -qE "wrong.yaml:$line:" "$W/out"
done
check "the nearest key is named" grep -q 'loops' "$W/out"

printf 'portals: ["127.0.0.1:0"]\ntargets: []\n' >"$W/none.yaml"
check_says "no targets are allowed, and told" 0 'none.yaml: warning: there are no targets' isertd --check --config "$W/none.yaml"
printf -- '---\nloops: 1\n' >>"$W/none.yaml"
check_says "a second document" 2 'none.yaml:3: a second document' isertd --check --config "$W/none.yaml"
printf 'targets: []\nmax_burst: 64K\n' >"$W/none.yaml"
check_says "max_burst below the default of first_burst" 2 'none.yaml:2: max_burst: .*set first_burst' \
	isertd --check --config "$W/none.yaml"

# ---- a full disk at the target: a space allocation error, not a hang ----
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$W/small" && mount -t tmpfs -o size=8M none "$W/small" && CLEANUPS+=("umount -l '$W/small'")
	truncate -s 64M "$W/small/disk"
	head -c 32M /dev/urandom >"$W/data"
	isertd --portal 127.0.0.1:0 --target "$IQN.full" --control "$W/full.sock" --port-file "$W/full.port" \
		--lun "0=file=$W/small/disk" >>"$W/isertd.log" 2>&1 &
	PIDS+=($!)
	wait_for 60 test -s "$W/full.port"
	full=127.0.0.1:$(cat "$W/full.port")
	iseradm -m node -T "$IQN.full" -p "$full" -o new >/dev/null
	check_says "a full disk at the target is told as such" "$STATUS_FAILED" 'space' \
		timeout 60 iseradm -m lun -o copy-in -T "$IQN.full" -p "$full" -l 0 --file "$W/data"
fi
