/* The executors that opcodes.c names: a parse and an execute function per command, in the file that
 * is named for the chapter. Their contract is struct command_operation's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

/* ---- spc.c: primary commands (SPC-4 section 6) ---- */
bool spc_no_parameters(struct command *cmd); /* nothing to parse */
void spc_test_unit_ready(struct command *cmd);
void spc_request_sense(struct command *cmd);
void spc_report_luns(struct command *cmd);
bool spc_report_luns_parse(struct command *cmd);
void spc_inquiry(struct command *cmd);
bool spc_inquiry_parse(struct command *cmd);
/* vpd.c: a vital product data page into the buffer; its length, or 0 if there is no such page. */
size_t vpd_page_encode(const struct command *cmd, uint8_t page, uint8_t *out, size_t size);

/* ---- opcodes_report.c (SPC-4 sections 6.35 and 6.36) ---- */
void opcodes_report(struct command *cmd);
void opcodes_report_tmf(struct command *cmd);

/* ---- modes.c, mode_select.c ---- */
bool modes_sense_parse(struct command *cmd);
void modes_sense(struct command *cmd);
bool modes_select_parse(struct command *cmd);
void modes_select(struct command *cmd);

/* ---- sbc.c: what is not data (SBC-3 section 5) ---- */
void sbc_read_capacity10(struct command *cmd);
void sbc_read_capacity16(struct command *cmd);
void sbc_get_lba_status(struct command *cmd);
bool sbc_get_lba_status_parse(struct command *cmd);
bool sbc_synchronize_cache_parse(struct command *cmd);
void sbc_synchronize_cache(struct command *cmd);
bool sbc_pre_fetch_parse(struct command *cmd);
void sbc_pre_fetch(struct command *cmd);
void sbc_start_stop_unit(struct command *cmd);
void sbc_prevent_allow(struct command *cmd);
/* The CDB's range lies on the medium; false after command_fail(). */
bool sbc_check_range(struct command *cmd, uint64_t lba, uint64_t blocks);
/* What one command may move or write, in blocks: VPD B0h and the checks speak of the same. */
uint32_t sbc_max_transfer(const struct command *cmd);
uint32_t sbc_max_compare_and_write(const struct command *cmd);
uint32_t sbc_max_write_same(const struct command *cmd);
uint32_t sbc_max_unmap(const struct command *cmd);
#define SBC_MAX_UNMAP_DESCRIPTORS 256

/* ---- sbc_rw.c ---- */
bool sbc_read_write_parse(struct command *cmd);
void sbc_read(struct command *cmd);
void sbc_write(struct command *cmd);
void sbc_orwrite(struct command *cmd);
bool sbc_verify_parse(struct command *cmd);
void sbc_verify(struct command *cmd);
void sbc_write_and_verify(struct command *cmd);
bool sbc_compare_and_write_parse(struct command *cmd);
void sbc_compare_and_write(struct command *cmd);

/* ---- sbc_same.c, sbc_unmap.c ---- */
bool sbc_write_same_parse(struct command *cmd);
void sbc_write_same(struct command *cmd);
bool sbc_unmap_parse(struct command *cmd);
void sbc_unmap(struct command *cmd);

/* ---- reservations.c, reservations_in.c, reservations_out.c ---- */
void reservation_reserve(struct command *cmd);
void reservation_release(struct command *cmd);
void reservation_in(struct command *cmd);
bool reservation_out_parse(struct command *cmd);
void reservation_out(struct command *cmd);
