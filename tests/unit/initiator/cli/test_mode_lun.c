/* iseradm -m lun: the request of each operation, and where its file and its words go. */
#include "tests/unit/initiator/cli/mode_kit.h"

#include "initiator/cli/lun_print.c"
#include "initiator/cli/lun_progress.c"

#include "initiator/cli/mode_lun.c"

/* lun_file.c's part: a descriptor that only has a number, and what became of it. */
static struct {
	const char *path;
	bool opened, write;
	int status, closed_with;
} file;

int lun_file_open(struct lun_file *f, const char *path, bool write)
{
	file.opened = true;
	file.path = path;
	file.write = write;
	f->path = path;
	f->write = write;
	f->fd = 99;
	f->truncate = write && path;
	return file.status;
}

int lun_file_close(struct lun_file *f, int status)
{
	(void)f;
	file.closed_with = status;
	return status;
}

#define COPIED                                                                                     \
	"{\"operation\": \"read\", \"lun\": 2, \"bytes\": 1048576, \"zeroes\": 0, \"seconds\": "   \
	"0.5,"                                                                                     \
	" \"mb_s\": 2.1}"

static void a_list_needs_a_target_alone(void **state)
{
	const struct answer a[] = {{0, "{\"luns\": []}", NULL}};

	(void)state;
	file.opened = false;
	assert_int_equal(STATUS_OK, iseradm(mode_lun, "-T iqn.x:a -o list", a));
	assert_string_equal(
		"{\"verb\":\"lun\",\"operation\":\"list\",\"target\":\"iqn.x:a\"}", it.asked[0]);
	assert_false(file.opened);
	assert_int_equal(-1, it.fd);
}

static void a_read_sends_its_range_and_its_file(void **state)
{
	const struct answer a[] = {{0, COPIED, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK,
		iseradm(mode_lun,
			"-T iqn.x:a -p h -I tcp -l 2 -o read --offset 4K --length 1M -F image", a));
	assert_string_equal("{\"verb\":\"lun\",\"operation\":\"read\",\"target\":\"iqn.x:a\","
			    "\"portal\":\"h\",\"transport\":\"tcp\",\"lun\":2,\"offset\":4096,"
			    "\"length\":1048576,\"truncate\":true}",
		it.asked[0]);
	assert_int_equal(99, it.fd);
	assert_true(file.write);
	assert_string_equal("image", file.path);
	assert_true(*it.out);
}

static void words_do_not_get_among_data(void **state)
{
	const struct answer a[] = {{0, COPIED, NULL}};

	(void)state;
	/* standard output has the data */
	assert_int_equal(STATUS_OK, iseradm(mode_lun, "-T iqn.x:a -l 2 -o read", a));
	assert_string_equal("", it.out);
	/* LUN 0 is a LUN */
	assert_int_equal(STATUS_OK, iseradm(mode_lun, "-T iqn.x:a -l 0 -o write --force", a));
	assert_non_null(strstr(it.asked[0], "\"force\":true,\"lun\":0}"));
	assert_false(file.write);
	assert_true(*it.out);
}

static void a_measurement_has_its_defaults(void **state)
{
	const struct answer a[] = {{0, "{\"rw\": \"randread\", \"iops\": 100.0}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_lun, "-T iqn.x:a -l 2 -o bench", a));
	assert_string_equal(
		"{\"verb\":\"lun\",\"operation\":\"bench\",\"target\":\"iqn.x:a\",\"lun\":2,"
		"\"rw\":\"randread\",\"bs\":4096,\"iodepth\":1,\"runtime_ms\":5000,"
		"\"rwmixread\":50,\"busy_poll_us\":0}",
		it.asked[0]);
	assert_int_equal(STATUS_OK,
		iseradm(mode_lun,
			"-T iqn.x:a -l 2 -o bench --rw randrw --bs 8k --iodepth 32 --runtime 2 "
			"--rwmixread 70 --size 1G --plain",
			a));
	assert_non_null(strstr(it.asked[0],
		"\"length\":1073741824,\"rw\":\"randrw\",\"bs\":8192,\"iodepth\":32,"
		"\"runtime_ms\":2000,\"rwmixread\":70"));
}

static void progress_goes_to_standard_errors(void **state)
{
	const struct answer a[] = {{0, COPIED, "{\"done\": 1000, \"total\": 4000}"}};

	(void)state;
	assert_int_equal(
		STATUS_OK, iseradm(mode_lun, "-T iqn.x:a -l 2 -o verify -F f --progress", a));
	assert_non_null(strstr(it.err, "25 %"));
	assert_null(strstr(it.out, "25 %"));
}

static void a_failure_reaches_the_file_too(void **state)
{
	const struct answer a[] = {{STATUS_NOT_FOUND, "{\"error\": \"no LUN 2\"}", NULL}};

	(void)state;
	assert_int_equal(
		STATUS_NOT_FOUND, iseradm(mode_lun, "-T iqn.x:a -l 2 -o copy-out -F f", a));
	assert_string_equal("iseradm: no LUN 2\n", it.err);
	assert_int_equal(STATUS_NOT_FOUND, file.closed_with);
	assert_string_equal("", it.out);
}

static void a_file_that_cannot_be_opened_asks_nothing(void **state)
{
	(void)state;
	file.status = STATUS_FAILED;
	assert_int_equal(STATUS_FAILED, iseradm(mode_lun, "-T iqn.x:a -l 2 -o copy-in -F f", NULL));
	file.status = STATUS_OK;
	assert_int_equal(0, it.answered);
}

static void wrong_words_are_usage(void **state)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{"-T iqn.x:a -l 1", "what to do?"},
		{"-o read -l 1", "which target?"},
		{"-T iqn.x:a -o read", "which LUN?"},
		{"-T iqn.x:a -l 1 -o bench -F f", "has no use for --file"},
		{"-T iqn.x:a -l 1 -o verify", "needs --file FILE (- for standard input)"},
		{"-T iqn.x:a -l 1 -o copy-out", "(- for standard output)"},
		{"-T iqn.x:a -l 16384 -o read", "16384"},
		{"-T iqn.x:a -l 1 -o bench --iodepth 0", "iodepth"},
		{"-T iqn.x:a -l 1 -o bench --rw backwards", "backwards"},
		{"-T iqn.x:a -l 1 -o bench --bs 4X", "4X"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(STATUS_USAGE, iseradm(mode_lun, rows[i].line, NULL));
		assert_non_null(strstr(it.err, rows[i].says));
		assert_int_equal(0, it.answered);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(a_list_needs_a_target_alone),
		MODE_TEST(a_read_sends_its_range_and_its_file),
		MODE_TEST(words_do_not_get_among_data),
		MODE_TEST(a_measurement_has_its_defaults),
		MODE_TEST(progress_goes_to_standard_errors),
		MODE_TEST(a_failure_reaches_the_file_too),
		MODE_TEST(a_file_that_cannot_be_opened_asks_nothing),
		MODE_TEST(wrong_words_are_usage),
	};

	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}
