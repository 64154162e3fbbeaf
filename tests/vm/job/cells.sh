# The cells: which stories run for a pair of target and initiator. Sourced by main.
# shellcheck shell=bash

# Everything that a block device can show: TARGET INITIATOR LARGEST_KIB LOGINS
cell_disk() {
	story "$1 on $DEVICE, $2"
	initiator_use "$2"
	KIND=$1
	target_start "$1" none || return
	disk_story "$3"
	abort_story
	loss_story
	login_story "$4"
	target_stop
	chap_story
	initiator_stop
}
cell_libiscsi() { # TARGET LOGINS
	story "$1 on $DEVICE, libiscsi"
	target_start "$1" none || return
	libiscsi_story "$2"
	target_stop
	libiscsi_chap_story
}
cell_qemu() { # TARGET
	story "$1 on $DEVICE, QEMU"
	target_start "$1" none || return
	qemu_story
	target_stop
}
# The pairs that do not have us in them, to tell a peer's own bug from ours.
cell_reference() { # TARGET LARGEST_KIB
	REFERENCE=1
	story "reference: $1 on $DEVICE, kernel"
	initiator_use kernel
	KIND=$1
	target_start "$1" none || return
	disk_story "$2"
	target_stop
	chap_story
	initiator_stop
	story "reference: $1 on $DEVICE, libiscsi"
	target_start "$1" none || return
	libiscsi_reference
	target_stop
	REFERENCE=
}
