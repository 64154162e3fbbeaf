#!/bin/bash
# What the compiler does not check: who includes whom (the table of docs/architecture.md), words and calls
# that are not ours, sizes of files, format, static analysis. Prints one line per finding.
set -u
shopt -s lastpipe # report() must be able to set `found`
cd "$(dirname "$0")/.." || exit 2
found=0
report() { # text on stdin: findings
	local text
	text=$(cat)
	[ -z "$text" ] && return
	printf '%s: %s\n' "$1" "$text" | sed "2,\$s/^/$1: /"
	found=1
}
sources() { git ls-files -co --exclude-standard '*.c' '*.h'; }

# ---- rooms: first matching row tells what a file may include (prefixes) ----
rooms='
common/base/                 common/base/
common/scsi/                 common/base/ common/scsi/
common/iscsi/                common/base/ common/iscsi/
common/iwarp/                common/base/ common/iwarp/
common/loop/                 common/base/ common/loop/
common/control/              common/base/ common/loop/ common/control/
common/rdma/rdma.h           common/base/
common/rdma/softiwarp        common/base/ common/loop/ common/iwarp/ common/rdma/
common/rdma/verbs            common/base/ common/loop/ common/rdma/
common/datamover/datamover.h common/base/ common/iscsi/pdu.h common/iscsi/keys.h
common/datamover/tcp         common/base/ common/loop/ common/iscsi/ common/datamover/datamover.h common/datamover/tcp
common/datamover/iser        common/base/ common/loop/loop.h common/iscsi/pdu.h common/iscsi/keys.h common/rdma/rdma.h common/datamover/datamover.h common/datamover/iser
initiator/daemon/            common/ initiator/
target/daemon/               common/ target/
initiator/cli/               common/base/ common/control/ initiator/status.h initiator/cli/
target/cli/                  common/base/ common/control/ target/cli/
initiator/export/            common/base/ common/loop/ initiator/disk.h initiator/export/
target/backend/              common/base/ common/loop/ target/backend/
initiator/                   common/base/ common/loop/ common/scsi/ common/iscsi/ common/datamover/datamover.h initiator/
target/                      common/base/ common/loop/ common/scsi/ common/iscsi/ common/datamover/datamover.h target/
tests/                       common/ initiator/ target/ tests/
'
for f in $(sources); do
	grep -nE '^#include "' "$f" | sed -E "s|^([0-9]+):#include \"([^\"]+)\".*|$f \1 \2|"
done | awk -v rooms="$rooms" '
BEGIN { n = split(rooms, row, "\n") }
{
	for (i = 1; i <= n; i++) {
		k = split(row[i], word, " ")
		if (k < 2 || index($1, word[1]) != 1)
			continue
		good = 0
		for (j = 2; j <= k; j++)
			if (index($3, word[j]) == 1)
				good = 1
		if (!good)
			printf "%s:%s: includes %s; %s may include only:%s\n", $1, $2, $3, word[1], substr(row[i], length(word[1]) + 1)
		next
	}
	printf "%s:%s: no room is known for this file\n", $1, $2
}' | report rooms

# The I/O-free rooms know no socket, no clock, no thread.
grep -nE '#include <(sys/socket|sys/epoll|sys/uio|time|unistd|pthread|poll|netinet/.*)\.h>' \
	common/scsi/*.[ch] common/iscsi/*.[ch] common/iwarp/*.[ch] 2>/dev/null | grep -v 'sys/uio' | report io-free
grep -nE '\b(ibv|rdma_cm|rdma_event)_[a-z]+\(' $(sources | grep -v -e '^common/rdma/verbs' -e '^tests/') /dev/null | report verbs

# ---- words and calls ----
grep -nE '\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|rand|signal)\(' $(sources | grep -v '^tests/') /dev/null | report call
grep -nE '\b(malloc|calloc|realloc|free|strdup|strndup|posix_memalign)\(' $(sources | grep -E '^(common|initiator|target)/' | grep -v -e '^common/base/alloc' -e '/cli/') /dev/null |
	grep -vE '(_free|alloc_[a-z]+|->free)\(' | report allocation
grep -nE '\b(exit|abort|_exit)\(' $(sources | grep -E '^(common|initiator|target)/' | grep -v -e '/daemon/main' -e '/cli/') /dev/null | report exit
grep -nE '\b(TODO|FIXME|XXX|HACK)\b' $(git ls-files -co --exclude-standard '*.c' '*.h' '*.sh' Makefile README.md docs | grep -v tests/lint.sh) /dev/null | report left

# ---- sizes: design.md 9.10 ----
sources | grep -v '^tests/' | xargs -r wc -l | awk '$2 != "total" && $1 > 500 {print $2 ": " $1 " lines; two rooms in one? (limit 500)"}' | report size

# ---- shell ----
command -v shellcheck >/dev/null && shellcheck -S warning -e SC2046,SC2086,SC2034 -x $(git ls-files -co --exclude-standard '*.sh') .ci/run 2>&1 | report shell

# ---- format: only with the version that the tree is formatted by ----
if clang-format --version 2>/dev/null | grep -q 'version 14'; then
	for f in $(sources); do
		clang-format --dry-run -Werror "$f" >/dev/null 2>&1 || echo "$f: run clang-format -i"
	done | report format
fi
if [ -x tests/analyse.sh ]; then
	tests/analyse.sh | report analyse
fi

[ $found -eq 0 ] && echo "lint: clean"
exit $found
