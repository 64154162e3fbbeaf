/* A session of the target: an I_T nexus (RFC 7143 section 4.3), with one connection (MaxConnections
 * is 1). It puts commands in CmdSN order, owns StatSN's numbering, and answers everything that is
 * not a SCSI command. It belongs to its worker's loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/datamover/datamover.h"
#include "common/iscsi/login.h"
#include "target/worker.h"

struct command;
struct tgt_session;
struct tgt_target;

/* ---- what command.c and tmf.c need of a session ---- */

struct worker *tgt_session_worker(const struct tgt_session *s);
struct worker_mover *tgt_session_mover(const struct tgt_session *s);
struct tgt_target *tgt_session_target(const struct tgt_session *s);
const char *tgt_session_initiator_port(const struct tgt_session *s); /* "<name>,i,0x<isid>" */
/* The LUNs that this session may see, ascending, for REPORT LUNS; returns how many there are in all
 * and writes at most `max`. */
size_t tgt_session_luns(const struct tgt_session *s, uint16_t *luns, size_t max);
/* The nexus of a LUN, or NULL. */
struct nexus *tgt_session_nexus(struct tgt_session *s, uint16_t lun);
/* The initiator knows that its LUNs have changed: the unit attention that one LUN has reported, or
 * that REPORT LUNS has made needless, goes from all of them (SPC-4 sections 6.33, and 7.8.7 with
 * LUICLR). */
void tgt_session_luns_told(struct tgt_session *s);
struct list *tgt_session_commands(struct tgt_session *s); /* struct command.session_link */
/* The command is over: sends the SCSI Response (status, sense, residual from cmd) behind the data
 * that was put, and opens the command window by one. Called once per
 * command, not for aborted ones. */
void tgt_session_respond(struct tgt_session *s, struct command *cmd);
/* An aborted command has given everything back; the window opens by one, no response is sent. */
void tgt_session_command_aborted(struct tgt_session *s, struct command *cmd);
/* A task management function is over: sends the response (tmf.c). */
void tgt_session_tmf_respond(struct tgt_session *s, uint32_t itt, uint8_t response);
/* Closes every connection with the session's target, its own after what was sent on it. */
void tgt_session_reset_target(struct tgt_session *s);
