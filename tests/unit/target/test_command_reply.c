/* What executors end a command with (target/command_reply.c): sense codes of failures, directions,
 * lengths of data-in. */
#include "tests/unit/target/device_server.h"

#include "common/base/log.h"
#include "target/opcodes.h"
#include "target/transfer.h"

static void wrong_direction_moves_nothing(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	struct server_result *r;
	unsigned size;

	(void)state;
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 1, false, &size);
	r = server_out(s, cdb, data, 512); /* all of it is residual */
	assert_good(r);
	assert_int_equal(r->transfer_length, 0);
	assert_int_equal(r->puts, 0);
	assert_sense(server_do(s,
			     (struct server_send){
				     .cdb = cdb, .read = true, .write = true, .length = 512}),
		SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	assert_sense(server_in(s, cdb, 512), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	server_free(v);
}

static void store_errors_become_sense(void **state)
{
	static const struct {
		int error;
		uint8_t key;
		uint16_t code;
	} rows[] = {
		{EIO, SENSE_MEDIUM_ERROR, ASC_WRITE_ERROR},
		{ENOSPC, SENSE_DATA_PROTECT, ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT},
		{EROFS, SENSE_DATA_PROTECT, ASC_WRITE_PROTECTED},
	};
	uint8_t *data = server_pattern(3 * 1024 * 1024, 2), cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fault_config fault = {
			.rules = {{.every_operation = true,
				.from = 1024 * 1024,
				.to = 1024 * 1024 + 512,
				.error = rows[i].error}},
			.rule_count = 1,
		};
		struct server *v = server_new_with(
			(struct server_config){.fault = &fault, .delay_ns = LOOP_NS_PER_MS});
		struct tgt_session *s = server_session(v, 0);
		struct server_result *r;

		cdb_read_write(cdb, SCSI_DATA_OUT, 0, 6144, false, &size);
		r = server_out(s, cdb, data, 3 * 1024 * 1024);
		assert_sense(r, rows[i].key, rows[i].code);
		assert_int_equal(r->transfer_length, 0);
		server_free(v);
	}
	free(data);
}

static void keep_line(void *arg, enum log_level level, const char *line)
{
	char *kept = arg;

	(void)level;
	snprintf(kept + strlen(kept), 1024 - strlen(kept), "%s\n", line);
}

static void failing_store_is_told_in_the_log_once_in_ten_seconds(void **state)
{
	struct fault_config fault = {
		.rules = {{.every_operation = true, .from = 0, .to = 512, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);
	char lines[1024] = "";
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	log_set_sink(keep_line, lines);
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 1, false, &size);
	for (int i = 0; i < 3; i++)
		assert_sense(
			server_in(s, cdb, 512), SENSE_MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	assert_non_null(
		strstr(lines, "LUN 0: READ(10) failed in the backend: Input/output error\n"));
	assert_ptr_equal(strchr(lines, '\n') + 1, lines + strlen(lines));
	lines[0] = '\0';
	server_advance(v, 10 * LOOP_NS_PER_S);
	server_in(s, cdb, 512);
	assert_non_null(strstr(lines, "; 3 failures since the last line\n"));
	log_set_sink(NULL, NULL);
	server_free(v);
}

/* The residual is against what the CDB asks for, not what the initiator expects (SAM-5 5.3, RFC
 * 7143 section 11.4.5): more is asked for than is expected, and the other way round. */
static void composed_data_is_cut_to_what_is_asked_for_and_expected(void **state)
{
	static const struct {
		uint16_t allocation, expected, sent, asked;
	} rows[] = {
		{96, 96, 96, 96},
		{36, 255, 36, 36},
		{255, 36, 36, 96},
		{255, 0, 0, 96},
		{0, 255, 0, 0},
	};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct server_result *r;

		cdb_inquiry(cdb, rows[i].allocation);
		r = server_in(s, cdb, rows[i].expected);
		assert_good(r);
		assert_int_equal(r->put_end, rows[i].sent);
		assert_int_equal(r->transfer_length, rows[i].asked);
	}
	server_free(v);
}

static void reply_waits_for_memory(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct arena *a = v->workers[0].arena;
	uint8_t cdb[CDB_SIZE];
	void *taken[4096];
	unsigned count = 0;
	uint32_t capacity, itt;

	(void)state;
	while ((taken[count] = arena_get(a, 1, &capacity)))
		assert_true(++count < ARRAY_SIZE(taken));
	cdb_inquiry(cdb, 36);
	itt = server_send(s, (struct server_send){.cdb = cdb, .read = true, .length = 36});
	server_turn(v);
	assert_false(s->results[itt].responded);
	arena_put(a, taken[--count]);
	command_resume_starved(&v->workers[0]);
	server_turn(v);
	assert_good(&s->results[itt]);
	while (count)
		arena_put(a, taken[--count]);
	server_free(v);
}

static void every_composed_answer_waits_for_memory(void **state)
{
	static const uint8_t cdbs[][CDB_SIZE] = {
		{0x03, 0, 0, 0, 252},		  /* REQUEST SENSE */
		{0x1a, 0, 0x3f, 0, 252},	  /* MODE SENSE(6) */
		{0x25},				  /* READ CAPACITY(10) */
		{0x5e, 0, 0, 0, 0, 0, 0, 0, 252}, /* PERSISTENT RESERVE IN */
		{0x9e, 0x10, [13] = 252},	  /* READ CAPACITY(16) */
		{0x9e, 0x12, [13] = 252},	  /* GET LBA STATUS */
		{0xa0, [9] = 252},		  /* REPORT LUNS */
		{0xa3, 0x0c, [9] = 252},	  /* REPORT SUPPORTED OPERATION CODES */
		{0xa3, 0x0d, [9] = 252},	  /* the same of task management */
	};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	static void *taken[4096];
	uint32_t capacity;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		taken[i] = arena_get(v->workers[0].arena, 1, &capacity);
	assert_null(taken[ARRAY_SIZE(taken) - 1]);
	for (size_t i = 0; i < ARRAY_SIZE(cdbs); i++)
		server_send(s, (struct server_send){.cdb = cdbs[i], .read = true, .length = 252});
	server_turn(v);
	for (size_t i = 0; i < ARRAY_SIZE(cdbs); i++)
		assert_false(s->results[i].responded);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		arena_put(v->workers[0].arena, taken[i]);
	command_resume_starved(&v->workers[0]);
	server_turn(v);
	for (size_t i = 0; i < ARRAY_SIZE(cdbs); i++) {
		assert_true(s->results[i].responded);
		assert_good(&s->results[i]);
		assert_true(s->results[i].put_end > 0);
	}
	server_free(v);
}

static void first_failure_counts(void **state)
{
	struct command cmd = {.plan = &transfer_read, .transfer_length = 512};

	(void)state;
	command_fail(&cmd, SENSE_MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	command_fail_field(&cmd, 2, 7);
	command_fail_errno(&cmd, ENOSPC, true);
	assert_true(cmd.failed);
	assert_int_equal(cmd.status, SCSI_CHECK_CONDITION);
	assert_int_equal(cmd.sense.key, SENSE_MEDIUM_ERROR);
	assert_int_equal(cmd.sense.asc << 8 | cmd.sense.ascq, ASC_UNRECOVERED_READ_ERROR);
	assert_false(cmd.sense.field_valid);
	assert_int_equal(cmd.transfer_length, 0);
}

static void every_error_of_a_store_has_its_sense(void **state)
{
	static const struct {
		int error;
		bool write;
		uint8_t key;
		uint16_t code;
	} rows[] = {
		{EIO, false, SENSE_MEDIUM_ERROR, 0x1100},
		{EIO, true, SENSE_MEDIUM_ERROR, 0x0c00},
		{ENODEV, false, SENSE_MEDIUM_ERROR, 0x1100},
		{ENOMEM, true, SENSE_ABORTED_COMMAND, 0x5503},
		{ENOSPC, true, SENSE_DATA_PROTECT, 0x2707},
		{EDQUOT, true, SENSE_DATA_PROTECT, 0x2707},
		{EROFS, true, SENSE_DATA_PROTECT, 0x2700},
	};

	struct server *v = server_new();
	struct command like = {
		.plan = &transfer_write,
		.operation = opcodes_first(SCSI_WRITE_10),
		.worker = &v->workers[0],
		.nexus = server_session(v, 0)->nexus,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct command cmd = like;

		command_fail_errno(&cmd, rows[i].error, rows[i].write);
		assert_int_equal(cmd.sense.key, rows[i].key);
		assert_int_equal(cmd.sense.asc << 8 | cmd.sense.ascq, rows[i].code);
	}
	server_free(v);
}

/* SPC-4 section 4.5.2.4.2: the field pointer says which of the two it points into. */
static void pointer_into_cdb_or_parameter_list(void **state)
{
	struct command cdb = {.plan = &transfer_read}, list = {.plan = &transfer_read};

	(void)state;
	command_fail_field(&cdb, 9, 3);
	assert_true(cdb.sense.field_valid && cdb.sense.field_in_cdb);
	assert_int_equal(cdb.sense.field_byte, 9);
	assert_int_equal(cdb.sense.field_bit, 3);
	assert_int_equal(cdb.sense.asc, 0x24);
	command_fail_parameter(&list, ASC_INVALID_FIELD_IN_PARAMETER_LIST, 300, -1);
	assert_true(list.sense.field_valid && !list.sense.field_in_cdb);
	assert_int_equal(list.sense.field_byte, 300);
	assert_int_equal(list.sense.field_bit, -1);
	assert_int_equal(list.sense.asc, 0x26);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_direction_moves_nothing),
		cmocka_unit_test(store_errors_become_sense),
		cmocka_unit_test(failing_store_is_told_in_the_log_once_in_ten_seconds),
		cmocka_unit_test(composed_data_is_cut_to_what_is_asked_for_and_expected),
		cmocka_unit_test(reply_waits_for_memory),
		cmocka_unit_test(every_composed_answer_waits_for_memory),
		cmocka_unit_test(first_failure_counts),
		cmocka_unit_test(every_error_of_a_store_has_its_sense),
		cmocka_unit_test(pointer_into_cdb_or_parameter_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
