#!/bin/bash
# clang-tidy, gcc -fanalyzer and cppcheck over the product's sources; prints findings only. What was found in a file is
# kept (build/analyse) under the digest of its text, its headers, the rules and the tools, and is printed again
# without looking again while these stay. From nothing it takes some ten minutes of one core.
#   tests/analyse.sh [FILE...]
set -u
cd "$(dirname "$0")/.." || exit 2
cache=build/analyse
mkdir -p "$cache"
for tool in clang-tidy gcc cppcheck; do
	command -v $tool >/dev/null || { echo "$tool is not installed; tests/packages.sh lint installs it" && exit 2; }
done
flags="-std=gnu11 -D_GNU_SOURCE -DISERAN_VERSION=__FILE__ -I. -pthread -DHAVE_FUSE=1 -DHAVE_SYSTEMD=1 $(
	pkg-config --exists libibverbs librdmacm && echo -DHAVE_VERBS=1)
	$(pkg-config --cflags fuse3 json-c yaml-0.1 liburing libsystemd 2>/dev/null)"
# What -fanalyzer of gcc 12 says of leaks and of NULL is often wrong where objects are linked into lists (it takes the
# entry that container_of makes of a list's head for NULL); clang's analyser looks at both.
fanalyzer="-O1 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-null-dereference
	-Wno-analyzer-possible-null-dereference -Wno-analyzer-possible-null-argument -Wno-analyzer-null-argument"
# The byte order is given because cppcheck does not have the compiler's own macros; without it, it stops at #error.
# ctuuninitvar takes a pointer to an object that the callee fills for one that it reads.
cppcheck="--quiet --std=c11 --inline-suppr --enable=warning,performance,portability --error-exitcode=0
	--suppress=missingInclude --suppress=unknownMacro --suppress=preprocessorErrorDirective --suppress=ctuuninitvar
	-I. -D_GNU_SOURCE -DHAVE_FUSE=1 -DHAVE_SYSTEMD=1 -DHAVE_VERBS=1
	-D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234"
rules=$({ cat .clang-tidy tests/analyse.sh && echo "$flags" && clang-tidy --version && gcc --version &&
	cppcheck --version; } | sha256sum)
export flags fanalyzer cppcheck rules cache

digest() { # file: of its text and that of the headers that it includes
	local depends
	depends=$(gcc -MM -MT '' $flags "$1" 2>/dev/null) || return
	{ echo "$rules $1" && cat $(echo "${depends#:}" | tr -d '\\'); } | sha256sum | cut -c1-32
}
run() { # name command...: the findings of a tool; one that fails and names none is one itself
	local name=$1 text rc
	shift
	text=$("$@" 2>&1)
	rc=$?
	grep -E '(warning|error): ' <<<"$text" || [ $rc -eq 0 ] ||
		echo "$file: $name ended with status $rc: $(tail -n 1 <<<"$text")"
}
one() { # file
	local key file=$1
	key=$(digest "$file") || key=""
	[ -n "$key" ] || { echo "$file: does not compile" && return; }
	if [ ! -e "$cache/$key" ]; then
		{
			run clang-tidy clang-tidy --quiet "$file" -- $flags
			run gcc gcc $flags $fanalyzer -c -o /dev/null "$file"
			run cppcheck cppcheck $cppcheck --template='{file}:{line}: warning: {message} [cppcheck {id}]' "$file"
		} | sed "s|^$PWD/||; s|^\./||" | sort -u >"$cache/$key.$$"
		mv "$cache/$key.$$" "$cache/$key"
	fi
	touch "$cache/$key"
	cat "$cache/$key"
}
export -f one digest run
if [ $# -gt 0 ]; then
	printf '%s\n' "$@"
else
	git ls-files -co --exclude-standard 'common/*.c' 'initiator/*.c' 'target/*.c'
fi | xargs -P "$(nproc)" -I{} bash -c 'one {}' | sort -u
find "$cache" -type f -mtime +30 -delete
