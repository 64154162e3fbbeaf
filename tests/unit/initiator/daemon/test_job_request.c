/* Requests of jobs: operations, numbers, the file, the record, and devices in use. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "initiator/daemon/job_request.c"

void job_copy_start(struct job *j)
{
	(void)j;
}

void job_copy_release(struct job *j)
{
	(void)j;
}

void job_reset_start(struct job *j)
{
	(void)j;
}

void job_bench_start(struct job *j)
{
	(void)j;
}

void job_bench_release(struct job *j)
{
	(void)j;
}

bool job_bench_writes(const struct job *j)
{
	return j->options.rw == JOB_RANDWRITE;
}

static bool mounted;

bool usage_find(const char *device, char *out, size_t size)
{
	assert_string_equal("/dev/loop3", device);
	if (mounted)
		snprintf(out, size, "mounted on /mnt");
	return mounted;
}

#define A "iqn.2026-11.org.example:a"
#define B "iqn.2026-11.org.example:b"

static struct job job;

/* Reads a request with a descriptor; the job is looked at by the test. */
static bool reads(struct kit *k, struct control_request *r, const char *text, int fd)
{
	bool good;

	memset(&job, 0, sizeof(job));
	job.daemon = &k->d;
	*r = request(text);
	r->fd = fd;
	good = job_request_read(&job, r, r->json);
	assert_int_equal(!good, r->answered);
	return good;
}

static void done(struct control_request *r)
{
	if (job.file > 0)
		close(job.file);
	request_free(r);
}

static int setup(void **state)
{
	struct node_record n;
	struct kit *k;

	if (kit_setup(state) < 0)
		return -1;
	k = *state;
	n = record(A, "192.0.2.1", 1);
	keep(&k->d, &n);
	return 0;
}

static void a_list_needs_nothing_but_a_target(void **state)
{
	struct control_request r;

	assert_true(reads(*state, &r, "{\"operation\": \"list\", \"target\": \"" A "\"}", -1));
	assert_string_equal("list", job.operation->name);
	assert_string_equal("192.0.2.1:3260", job.portal);
	assert_int_equal(NODE_TRANSPORT_TCP, job.record.transport);
	assert_true(job.options.length == UINT64_MAX);
	done(&r);
}

static void a_misspelt_operation_is_told_the_right_one(void **state)
{
	struct control_request r;

	assert_false(reads(*state, &r, "{\"operation\": \"copyin\", \"target\": \"" A "\"}", -1));
	assert_int_equal(STATUS_USAGE, r.status);
	assert_string_equal("operation 'copyin' is not known; did you mean 'copy-in'?", r.error);
	done(&r);
	assert_false(reads(*state, &r, "{\"target\": \"" A "\"}", -1));
	assert_string_equal("operation: there is none in the request", r.error);
	done(&r);
	assert_false(reads(*state, &r,
		"{\"operation\": \"bench\", \"rw\": \"zzzzzz\", \"target\": \"" A "\"}", -1));
	assert_non_null(strstr(r.error, "pattern 'zzzzzz' is not known"));
	done(&r);
}

static void numbers_have_their_range(void **state)
{
	static const struct {
		const char *field;
		const char *line;
	} wrong[] = {
		{"\"lun\": 16384", "lun: a whole number within 0..16383"},
		{"\"lun\": -1", "lun: a whole number within 0..16383"},
		{"\"bs\": 100", "bs: a whole number within 512..16777216"},
		{"\"iodepth\": 0", "iodepth: a whole number within 1..1024"},
		{"\"iodepth\": \"4\"", "iodepth: a whole number within 1..1024"},
		{"\"rwmixread\": 101", "rwmixread: a whole number within 0..100"},
		{"\"runtime_ms\": 86400001", "runtime_ms: a whole number within 1..86400000"},
		{"\"bs\": 16777216, \"iodepth\": 17",
			"bs times iodepth is 272 MiB of buffers; 256 MiB is the most"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct control_request r;
		char text[256];

		snprintf(text, sizeof(text),
			"{\"operation\": \"bench\", \"target\": \"" A "\", %s}", wrong[i].field);
		assert_false(reads(*state, &r, text, -1));
		assert_int_equal(STATUS_USAGE, r.status);
		assert_string_equal(wrong[i].line, r.error);
		done(&r);
	}
}

static void a_measurement_takes_what_is_given(void **state)
{
	struct control_request r;

	assert_true(reads(*state, &r,
		"{\"operation\": \"bench\", \"target\": \"" A
		"\", \"lun\": 5, \"rw\": \"randwrite\","
		" \"bs\": 8192, \"iodepth\": 32, \"runtime_ms\": 100, \"offset\": 4096,"
		" \"length\": 1048576, \"busy_poll_us\": 50}",
		-1));
	assert_int_equal(5, job.options.lun);
	assert_int_equal(JOB_RANDWRITE, job.options.rw);
	assert_string_equal("randwrite", job_rw_name(&job));
	assert_int_equal(8192, job.options.block_size);
	assert_int_equal(32, job.options.depth);
	assert_int_equal(100, job.options.runtime_ms);
	assert_int_equal(4096, job.options.offset);
	assert_int_equal(1048576, job.options.length);
	assert_int_equal(50, job.options.busy_poll_us);
	assert_int_equal(50, job.options.read_percent);
	done(&r);
}

static void a_lun_must_be_named(void **state)
{
	struct control_request r;

	assert_false(reads(*state, &r, "{\"operation\": \"bench\", \"target\": \"" A "\"}", -1));
	assert_string_equal("which LUN? -l says it; -o list shows them", r.error);
	done(&r);
	assert_false(reads(*state, &r, "{\"operation\": \"bench\", \"lun\": 0}", -1));
	assert_string_equal("which target? -T says it", r.error);
	done(&r);
}

#define READ "{\"operation\": \"read\", \"lun\": 0, \"target\": \"" A "\"}"
#define WRITE "{\"operation\": \"write\", \"lun\": 0, \"target\": \"" A "\"}"

static void the_file_must_be_one_that_nobody_waits_for(void **state)
{
	struct control_request r;
	int ends[2];

	assert_false(reads(*state, &r, READ, -1));
	assert_string_equal(
		"read needs a regular file or a block device to come with the request", r.error);
	done(&r);
	assert_int_equal(0, pipe(ends));
	assert_false(reads(*state, &r, READ, ends[1]));
	assert_int_equal(STATUS_USAGE, r.status);
	done(&r);
	close(ends[0]);
	assert_false(reads(*state, &r, READ, open("/dev/null", O_RDWR)));
	done(&r);
	assert_true(reads(*state, &r, READ, memfd_create("t", 0)));
	done(&r);
}

static void the_file_must_be_open_the_right_way(void **state)
{
	char path[] = "/tmp/iseran-job-XXXXXX";
	struct control_request r;

	close(mkstemp(path));
	assert_false(reads(*state, &r, READ, open(path, O_RDONLY)));
	assert_string_equal("read: the file is not open for writing", r.error);
	done(&r);
	assert_false(reads(*state, &r, WRITE, open(path, O_WRONLY)));
	assert_string_equal("write: the file is not open for reading", r.error);
	done(&r);
	assert_true(reads(*state, &r, READ, open(path, O_WRONLY)));
	done(&r);
	assert_true(reads(*state, &r, WRITE, open(path, O_RDONLY)));
	done(&r);
	unlink(path);
}

static void no_record_is_needed_where_all_is_said(void **state)
{
	struct control_request r;

	assert_true(reads(*state, &r,
		"{\"operation\": \"list\", \"target\": \"" B
		"\", \"portal\": \"[2001:db8::1]:860\"}",
		-1));
	assert_string_equal(B, job.record.target_name);
	assert_string_equal("[2001:db8::1]:860", job.portal);
	assert_int_equal(NODE_TRANSPORT_ISER, job.record.transport);
	done(&r);
	assert_false(reads(*state, &r, "{\"operation\": \"list\", \"target\": \"" B "\"}", -1));
	assert_int_equal(STATUS_NOT_FOUND, r.status);
	assert_string_equal(B ": no record of this target; -p HOST says where it is", r.error);
	done(&r);
}

static void several_portals_must_be_told_apart(void **state)
{
	struct node_record n = record(A, "192.0.2.2", 1);
	struct control_request r;
	struct kit *k = *state;

	keep(&k->d, &n);
	assert_false(reads(k, &r, "{\"operation\": \"list\", \"target\": \"" A "\"}", -1));
	assert_string_equal(
		A " is at 2 portals; -p says which one, iseradm -m node lists them", r.error);
	done(&r);
	assert_true(reads(k, &r,
		"{\"operation\": \"list\", \"target\": \"" A "\", \"portal\": \"192.0.2.2\"}", -1));
	assert_string_equal("192.0.2.2:3260", job.portal);
	done(&r);
}

static void iser_is_preferred_and_a_transport_may_be_said(void **state)
{
	struct node_record n = record(A, "192.0.2.1", 1);
	struct control_request r;
	struct kit *k = *state;

	node_record_default(&n, NODE_TRANSPORT_ISER);
	strcpy(n.target_name, A);
	strcpy(n.address, "192.0.2.1");
	keep(&k->d, &n);
	assert_true(reads(k, &r, "{\"operation\": \"list\", \"target\": \"" A "\"}", -1));
	assert_int_equal(NODE_TRANSPORT_ISER, job.record.transport);
	done(&r);
	assert_true(reads(k, &r,
		"{\"operation\": \"list\", \"target\": \"" A
		"\", \"transport\": \"tcp\", \"provider\": \"softiwarp\"}",
		-1));
	assert_int_equal(NODE_TRANSPORT_TCP, job.record.transport);
	assert_int_equal(NODE_PROVIDER_SOFTIWARP, job.record.provider);
	done(&r);
}

static const char *loop3(const struct export *e)
{
	(void)e;
	return "/dev/loop3";
}

static void nobody_writes_below_a_device_in_use(void **state)
{
	static const struct export_ops ops = {.device = loop3};
	struct export e = {&ops};
	struct kit *k = *state;
	struct node_record n = record(A, "192.0.2.1", 1);
	struct daemon_session *s = session_of(&k->d, &n, 1);
	struct daemon_lun lun = {.session = s, .number = 0, .state = LUN_READY, .export = &e};
	struct control_request r;

	list_append(&s->luns, &lun.link);
	mounted = true;
	assert_false(reads(k, &r, WRITE, memfd_create("t", 0)));
	assert_int_equal(STATUS_BUSY, r.status);
	assert_string_equal("LUN 0 is /dev/loop3 here, which is mounted on /mnt; writing below it "
			    "would spoil that; --force does it all the same",
		r.error);
	done(&r);
	/* reading does no harm; nor does another LUN; force is force */
	assert_true(reads(k, &r, READ, memfd_create("t", 0)));
	done(&r);
	assert_true(reads(k, &r, "{\"operation\": \"write\", \"lun\": 1, \"target\": \"" A "\"}",
		memfd_create("t", 0)));
	done(&r);
	assert_true(reads(k, &r,
		"{\"operation\": \"write\", \"lun\": 0, \"force\": true, \"target\": \"" A "\"}",
		memfd_create("t", 0)));
	done(&r);
	assert_false(reads(k, &r,
		"{\"operation\": \"bench\", \"rw\": \"randwrite\", \"lun\": 0, \"target\": \"" A
		"\"}",
		-1));
	done(&r);
	mounted = false;
	assert_true(reads(k, &r, WRITE, memfd_create("t", 0)));
	done(&r);
	session_away(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_needs_nothing_but_a_target),
		TEST(a_misspelt_operation_is_told_the_right_one),
		TEST(numbers_have_their_range),
		TEST(a_measurement_takes_what_is_given),
		TEST(a_lun_must_be_named),
		TEST(the_file_must_be_one_that_nobody_waits_for),
		TEST(the_file_must_be_open_the_right_way),
		TEST(no_record_is_needed_where_all_is_said),
		TEST(several_portals_must_be_told_apart),
		TEST(iser_is_preferred_and_a_transport_may_be_said),
		TEST(nobody_writes_below_a_device_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
