#!/bin/bash
# Makes docs/hostile-peers.md from the tables of tests/pair/test_hostile_*.c:
#   tests/hostile-page.sh build/release > docs/hostile-peers.md
# Each of these programs checks that its part of the page is what its table says.
set -eu
out=${1:-build/release}

cat <<'PAGE'
# Hostile peers

What a peer can do that the standards do not allow, and what it hears. Each row is one test: a scripted peer sends bytes
to a real target or a real initiator, over iSCSI/TCP, over iSER on software iWARP, or over both. The third column is
all that comes back from then on; a test fails when anything else does, when memory is left, or when another session of
the same process notices.

How to read it:

* *Login Response 0200*: status class and detail (RFC 7143 section 11.13.5). *Reject 05*: the reason (11.17.1).
  *Task Management Response 05*, *Logout Response 01*: the response code.
* *SCSI Response 02 (5/25/00)*: status, then sense key, ASC and ASCQ.
* *Terminate 1.2.03*: layer (0 RDMAP, 1 DDP, 2 MPA), type and code (RFC 5040 section 4.8).
* *closed*: the connection is closed. *nothing*: it stays open, and nothing is said.
* Behind a comma at the initiator: what its session is told, as an errno.

The page is made from the tables of `tests/pair/test_hostile_*.c` by `tests/hostile-page.sh`.

PAGE
for name in setup iwarp iser login keys chap session text data time initiator_login initiator initiator_tags discovery; do
	HOSTILE_PAGE=1 "$out/tests/pair/test_hostile_$name"
done | sed '$ d'
