# Completion of iseradm, iserd, isertadm and isertd for bash. Options come from the programs' own --help, so that
# they are always those of the installed version; targets and portals come from an iserd that runs (none is started).
# shellcheck shell=bash

_iseran_words() { # WORDS: those that begin with what is being typed
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# _iseran_options PROGRAM ARGUMENT...: the long options that its help tells of
_iseran_options() {
	"$@" --help 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z][a-z-]*).*/\2/p'
}

# The word that follows one of OPTIONS on the command line so far.
_iseran_value_of() {
	local i option
	for ((i = 1; i < COMP_CWORD; i++)); do
		for option in "$@"; do
			[ "${COMP_WORDS[i]}" = "$option" ] && echo "${COMP_WORDS[i + 1]}" && return
		done
	done
}

# The column of "portal,tpgt target" that is asked for. Words break at colons, which names and portals have.
_iseran_nodes() { # 1: portals, 2: targets
	local names
	[ -S "${ISERAN_RUNTIME_DIR:-/run/iseran}/iserd.sock" ] || return
	names=$(iseradm -m node 2>/dev/null | awk -v n="$1" '{sub(/,.*/, "", $1); print $n}' | sort -u)
	_iseran_words "$names"
	declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
}

_iseran_start() {
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n : cur prev
	fi
}

_iseradm_operations() { # MODE
	case $1 in
	discovery) echo "show delete nonpersistent" ;;
	discoverydb | node) echo "show new delete update" ;;
	session | iface) echo "show" ;;
	lun) echo "list read write copy-in copy-out verify bench reset" ;;
	daemon) echo "status stop log" ;;
	esac
}

_iseradm() {
	local cur prev mode
	_iseran_start
	mode=$(_iseran_value_of -m --mode)
	case $prev in
	-m | --mode) _iseran_words "discovery discoverydb node session iface lun daemon" ;;
	-t | --type) _iseran_words "sendtargets st" ;;
	-I | --interface) _iseran_words "iser tcp default" ;;
	-o | --op) _iseran_words "$(_iseradm_operations "$mode")" ;;
	-T | --targetname) _iseran_nodes 2 ;;
	-p | --portal) _iseran_nodes 1 ;;
	-P | --print) _iseran_words "0 1 2 3" ;;
	-L | --loginall | -U | --logoutall | --login | --logout) _iseran_words "all automatic manual onboot" ;;
	--rw) _iseran_words "read write randread randwrite rw randrw" ;;
	-v | --value) [ "$mode" = daemon ] && _iseran_words "error warning info debug" ;;
	-F | --file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	--state-dir | --runtime-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	*)
		if [ -z "$mode" ]; then
			_iseran_words "-m --help --version"
		else
			_iseran_words "$(_iseran_options iseradm -m "$mode")"
		fi
		;;
	esac
}

_iserd() {
	local cur prev
	_iseran_start
	case $prev in
	-s | --state-dir | -r | --runtime-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	-l | --log-level) _iseran_words "error warning info debug" ;;
	--crc) _iseran_words "auto on off" ;;
	*) _iseran_words "$(_iseran_options iserd)" ;;
	esac
}

_isertadm() {
	local cur prev verb=${COMP_WORDS[1]}
	_iseran_start
	if [ "$COMP_CWORD" -eq 1 ]; then
		_iseran_words "$(isertadm --help 2>/dev/null | sed -nE 's/^  ([a-z]+) +.*/\1/p') --help --version"
		return
	fi
	case $prev in
	check | --control) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	log) _iseran_words "error warning info debug" ;;
	*) _iseran_words "$(_iseran_options isertadm "$verb")" ;;
	esac
}

_isertd() {
	local cur prev
	_iseran_start
	case $prev in
	-c | --config | --control | --port-file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	-l | --lun) _iseran_words "file= memory= null=" ;;
	--log-level) _iseran_words "error warning info debug" ;;
	*) _iseran_words "$(_iseran_options isertd)" ;;
	esac
}

complete -o default -F _iseradm iseradm
complete -o default -F _iserd iserd
complete -o default -F _isertadm isertadm
complete -o default -F _isertd isertd
