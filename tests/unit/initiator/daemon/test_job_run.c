/* A job's thread from login to logout, against a scripted target; here it is called on the test's
 * own thread. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#undef TARGET
#include "tests/unit/initiator/fake_target.h"

#include "initiator/daemon/job_list.c"

#include "initiator/daemon/job_run.c"

static struct {
	struct daemon daemon;
	struct fake *fake;
	struct job job;
	unsigned started, released, delivered;
	int movers; /* errno of making them */
	bool no_mover;
} it;

int daemon_movers_new(
	struct loop *loop, const struct daemon_config *config, struct daemon_movers **ret)
{
	(void)loop;
	(void)config;
	*ret = NULL;
	return it.movers;
}

struct dm_mover *daemon_movers_find(const struct daemon_movers *m, enum node_transport transport,
	enum node_provider provider, const struct address *portal)
{
	(void)m;
	(void)transport;
	(void)provider;
	(void)portal;
	return it.no_mover ? NULL : &it.fake->dm;
}

void daemon_movers_free(struct daemon_movers *m)
{
	(void)m;
}

static void start_and_end(struct job *j)
{
	it.started++;
	assert_non_null(j->disk);
	job_finish(j, json_object_new_object());
	job_fail(j, STATUS_FAILED, "the first outcome counts");
}

static void start_and_cancel(struct job *j)
{
	it.started++;
	loop_post(j->loop, &j->cancel);
}

static struct disk_io left; /* under way when the session ends */

static void left_done(struct disk_io *io, int status)
{
	(void)io;
	assert_true(status < 0);
}

static void start_and_lose_io(struct job *j)
{
	static uint8_t data[FAKE_BLOCK];

	it.started++;
	it.fake->silent = true;
	left = (struct disk_io){
		.operation = DISK_READ, .length = sizeof(data), .data = data, .done = left_done};
	disk_submit(j->disk, &left);
	job_fail(j, STATUS_FAILED, "the file: no space");
}

static void release(struct job *j)
{
	it.released++;
	assert_true(j->ended);
	assert_non_null(j->session);
}

static const struct job_operation op_list = {.name = "list"};
static const struct job_operation op_end = {
	.name = "read", .disk = true, .start = start_and_end, .release = release};
static const struct job_operation op_cancel = {
	.name = "read", .disk = true, .start = start_and_cancel, .release = release};
static const struct job_operation op_lose = {
	.name = "read", .disk = true, .start = start_and_lose_io, .release = release};

static void told(struct loop_message *m)
{
	(void)m;
	it.delivered++;
}

static int setup(void **state)
{
	const char *wrong;

	(void)state;
	memset(&it, 0, sizeof(it));
	it.fake = fake_new();
	it.daemon.loop = it.fake->loop;
	it.job = (struct job){.daemon = &it.daemon, .loop = it.fake->loop, .file = -1};
	it.job.cancel.deliver = job_cancelled;
	it.job.ended_message.deliver = told;
	it.job.record = record(FAKE_TARGET, "192.0.2.1", 1);
	strcpy(it.job.initiator_name, FAKE_INITIATOR);
	strcpy(it.job.portal, "192.0.2.1:3260");
	return address_parse("192.0.2.1:3260", 3260, &it.job.address, &wrong);
}

static int teardown(void **state)
{
	(void)state;
	json_object_put(it.job.result);
	fake_free(it.fake);
	assert_int_equal(alloc_live(), 0);
	return 0;
}

static void run(const struct job_operation *operation)
{
	it.job.operation = operation;
	assert_null(job_run(&it.job));
	fake_turns(it.fake);
	assert_int_equal(1, it.delivered);
	assert_null(it.job.session);
	assert_null(it.job.disk);
}

static void a_list_is_what_the_scan_has_found(void **state)
{
	struct json_object *luns;

	(void)state;
	run(&op_list);
	assert_int_equal(STATUS_OK, it.job.status);
	assert_true(json_object_object_get_ex(it.job.result, "luns", &luns));
	assert_int_equal(1, json_object_array_length(luns));
	assert_non_null(strstr(json_object_to_json_string(luns), "\"size\": 8388608"));
	assert_int_equal(1, fake_count(it.fake, ISCSI_LOGOUT_REQUEST));
}

static void an_operation_begins_with_its_disk_and_ends_with_a_logout(void **state)
{
	(void)state;
	run(&op_end);
	assert_int_equal(1, it.started);
	assert_int_equal(1, it.released);
	assert_int_equal(STATUS_OK, it.job.status);
	assert_string_equal("", it.job.line);
	assert_int_equal(1, fake_count(it.fake, ISCSI_LOGOUT_REQUEST));
}

static void a_lun_that_is_not_there_is_told_with_those_that_are(void **state)
{
	(void)state;
	it.job.options.lun = 7;
	run(&op_end);
	assert_int_equal(0, it.started);
	assert_int_equal(STATUS_NOT_FOUND, it.job.status);
	assert_string_equal(FAKE_TARGET " has no disk at LUN 7; it has 0", it.job.line);
}

static void a_cancelled_job_does_not_ask_the_target(void **state)
{
	(void)state;
	run(&op_cancel);
	assert_int_equal(STATUS_FAILED, it.job.status);
	assert_string_equal("given up, since it was told to", it.job.line);
	assert_int_equal(0, fake_count(it.fake, ISCSI_LOGOUT_REQUEST));
	assert_int_equal(1, it.released);
}

static void io_that_is_under_way_ends_before_its_memory_goes(void **state)
{
	(void)state;
	run(&op_lose);
	assert_string_equal("the file: no space", it.job.line);
	assert_int_equal(1, it.released);
}

static void a_refused_login_is_told(void **state)
{
	(void)state;
	it.fake->login_status = LOGIN_AUTHENTICATION_FAILURE;
	run(&op_end);
	assert_int_equal(STATUS_AUTH, it.job.status);
	assert_non_null(strstr(it.job.line, "192.0.2.1:3260: "));
	assert_int_equal(0, it.started);
}

static void without_a_mover_no_session_is_made(void **state)
{
	(void)state;
	it.no_mover = true;
	run(&op_end);
	assert_int_equal(STATUS_FAILED, it.job.status);
	assert_string_equal(
		"192.0.2.1:3260: no session can be made: Operation not supported", it.job.line);
	it.delivered = 0;
	it.job.over = false;
	it.movers = -ENOMEM;
	run(&op_end);
	assert_non_null(strstr(it.job.line, "Cannot allocate memory"));
}

static void the_queue_is_as_deep_as_the_measurement(void **state)
{
	struct ini_session_config c = {.queue_depth = 32, .cmds_max = 128};

	(void)state;
	it.job.options.depth = 16;
	session_widen(&it.job, &c);
	assert_int_equal(32, c.queue_depth);
	it.job.options.depth = 512;
	session_widen(&it.job, &c);
	assert_int_equal(512, c.queue_depth);
	assert_int_equal(512, c.cmds_max);
}

static void failed_io_is_told_in_words(void **state)
{
	static const struct {
		int error;
		enum ini_status status;
		const char *says;
	} cases[] = {
		{-ENOSPC, STATUS_FAILED, "no space is left at the target"},
		{-EROFS, STATUS_ACCESS, "it is write protected"},
		{-EBADE, STATUS_ACCESS, "reservation"},
		{-ETIMEDOUT, STATUS_NO_ANSWER, "away for too long"},
		{-ENODEV, STATUS_NOT_FOUND, "not there any more"},
		{-EIO, STATUS_FAILED, "Input/output error"},
	};
	const struct disk_io io = {.operation = DISK_WRITE, .offset = 4096, .length = 512};

	(void)state;
	it.job.options.lun = 3;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		it.job.over = false;
		job_fail_io(&it.job, &io, cases[i].error);
		assert_int_equal(cases[i].status, it.job.status);
		assert_memory_equal("LUN 3: writing, 512 bytes at byte 4096: ", it.job.line, 40);
		assert_non_null(strstr(it.job.line, cases[i].says));
	}
	loop_call_cancel(&it.job.step);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_is_what_the_scan_has_found),
		TEST(an_operation_begins_with_its_disk_and_ends_with_a_logout),
		TEST(a_lun_that_is_not_there_is_told_with_those_that_are),
		TEST(a_cancelled_job_does_not_ask_the_target),
		TEST(io_that_is_under_way_ends_before_its_memory_goes),
		TEST(a_refused_login_is_told),
		TEST(without_a_mover_no_session_is_made),
		TEST(the_queue_is_as_deep_as_the_measurement),
		TEST(failed_io_is_told_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
