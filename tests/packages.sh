#!/bin/sh
# Installs the Debian packages that a purpose needs, if they are missing: prints them first.
#   tests/packages.sh build|check|lint|coverage|bench|fuzz|vm|demo
# On another distribution it prints what to install, by Debian's names, and stops.
set -eu

build="gcc make pkg-config git libc6-dev libisal-dev libssl-dev liburing-dev libjson-c-dev libyaml-dev libfuse3-dev libsystemd-dev scdoc"
demo="fuse3 e2fsprogs util-linux mount coreutils procps kmod"
check="libcmocka-dev libiscsi-bin tgt qemu-utils qemu-block-extra libasan8 libubsan1 libtsan2 jq python3-minimal e2fsprogs strace iproute2"
lint="clang-format clang-tidy cppcheck shellcheck"
coverage="lcov libcmocka-dev"
fuzz="clang libclang-rt-dev libcmocka-dev"
vm="qemu-system-x86 debootstrap e2fsprogs cpio xz-utils util-linux"
bench="libiscsi-bin tgt jq gnuplot-nox"

case "${1-}" in
build) want="$build" ;;
demo) want="$build $demo" ;;
check) want="$build $demo $check" ;;
lint) want="$build $lint" ;;
coverage) want="$build $coverage" ;;
fuzz) want="$build $fuzz" ;;
vm) want="$build $vm" ;;
bench) want="$build $bench" ;;
*)
	echo "packages.sh: purpose '${1-}' is not known; use build, demo, check, lint, coverage, fuzz, vm or bench" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
	echo "This is not Debian (no apt-get). Install the equivalents of these Debian packages, then run 'make SKIP_PACKAGES=1 ...':" >&2
	echo "  $want" >&2
	exit 1
fi

missing=""
for p in $want; do
	case "$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null || true)" in
	*"install ok installed"*) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "These packages are missing, and neither root nor sudo is there to install them:$missing" >&2
		exit 1
	fi
	sudo="sudo"
fi
echo "Installing Debian packages:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1 && return 0
	tail -n 20 "$log" >&2
	echo "apt-get $1 failed; its last lines are above" >&2
	return 1
}
# The lists may be old or empty: try with what is there first.
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing >"$log" 2>&1 || {
	apt update
	# shellcheck disable=SC2086
	apt install --no-install-recommends $missing
}
