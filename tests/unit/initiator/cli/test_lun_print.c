/* What -m lun prints for people, and its progress line. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include "initiator/cli/lun_print.c"
#include "initiator/cli/lun_progress.c"

static const char measured[] =
	"{\"rw\": \"randread\", \"bs\": 4096, \"iodepth\": 32, \"runtime_s\": 1.0, \"ios\": 200000,"
	" \"iops\": 200000.4, \"mb_s\": 819.2, \"mean_us\": 20.04, \"p50_us\": 18.26,"
	" \"p90_us\": 30.0, \"p99_us\": 55.0, \"p999_us\": 90.5, \"max_us\": 1000.0,"
	" \"cpu_us_per_io\": 1.5, \"errors\": 0}";

static struct caught printed(void (*print)(struct json_object *o, FILE *out), const char *text)
{
	struct json_object *o = json(text);
	struct caught c;

	catch_output(&c);
	print(o, stdout);
	release_output(&c);
	json_object_put(o);
	return c;
}

static void print_plain(struct json_object *o, FILE *out)
{
	print_lun_bench(o, true, out);
}

static void print_whole(struct json_object *o, FILE *out)
{
	print_lun_bench(o, false, out);
}

static void measurement_in_one_line(void **state)
{
	struct caught c = printed(print_plain, measured);

	(void)state;
	assert_string_equal("IOPS 200000  MB/s 819  p50 18.3 us  p99 55.0 us\n", c.text[0]);
	free_output(&c);
}

static void measurement_in_full_tells_errors_only_if_there_are_any(void **state)
{
	struct caught c = printed(print_whole, measured);

	(void)state;
	assert_non_null(strstr(c.text[0], "randread, 4096 bytes, depth 32: 200000 I/Os in 1.00 s"));
	assert_non_null(strstr(c.text[0], "p99.9 90.5, max 1000.0"));
	assert_null(strstr(c.text[0], "errors"));
	free_output(&c);
}

static void list_has_size_in_bytes_too(void **state)
{
	struct caught c = printed(print_lun_list,
		"{\"luns\": [{\"lun\": 1, \"size\": 67108864, \"block_size\": 512, \"vendor\": "
		"\"IET\", \"product\": \"DISK\", \"revision\": \"1\", \"wwid\": \"t10.x\"}]}");

	(void)state;
	assert_string_equal(
		"Lun: 1\t64.0 MiB (67108864 bytes), 512-byte blocks, IET DISK 1, t10.x\n",
		c.text[0]);
	free_output(&c);
}

static void copy_tells_zeroes_only_if_there_were_any(void **state)
{
	struct caught c = printed(print_lun_copy,
		"{\"operation\": \"copy-in\", \"bytes\": 1048576, \"zeroes\": 0, \"seconds\": 0.5,"
		" \"mb_s\": 2.1}");

	(void)state;
	assert_string_equal("1.0 MiB (1048576 bytes) in 0.50 s, 2 MB/s\n", c.text[0]);
	free_output(&c);
	c = printed(print_lun_copy,
		"{\"operation\": \"copy-in\", \"bytes\": 1048576, \"zeroes\": 524288, "
		"\"seconds\": 0.5, \"mb_s\": 2.1}");
	assert_string_equal("1.0 MiB (1048576 bytes) in 0.50 s, 2 MB/s; 512.0 KiB of it were "
			    "zeroes, and not moved\n",
		c.text[0]);
	free_output(&c);
}

static void progress_tells_rate_and_time_left(void **state)
{
	char line[160];

	(void)state;
	lun_progress_line(512ull << 20, 1ull << 30, 0.5, line, sizeof(line));
	assert_string_equal("512.0 MiB of 1.0 GiB, 50 %, 1074 MB/s, 0:01 left", line);
	lun_progress_line(1000000, 91000000, 1, line, sizeof(line));
	assert_string_equal("976.6 KiB of 86.8 MiB, 1 %, 1 MB/s, 1:30 left", line);
	lun_progress_line(0, 1024, 0, line, sizeof(line));
	assert_string_equal("0 B of 1.0 KiB, 0 %, 0 MB/s", line);
}

static void progress_is_for_those_who_want_it(void **state)
{
	struct json_object *o = json("{\"done\": 1024, \"total\": 2048}");
	struct lun_progress p;
	struct caught c;

	(void)state;
	catch_output(&c);
	lun_progress_init(&p, false, false);
	p.show = p.terminal = false;
	lun_progress_show(&p, o);
	p.show = true;
	lun_progress_show(&p, o);
	lun_progress_show(&p, o); /* within the same second */
	lun_progress_end(&p);
	release_output(&c);
	assert_non_null(strstr(c.text[1], "1.0 KiB of 2.0 KiB, 50 %"));
	assert_ptr_equal(strchr(c.text[1], '\n'), c.text[1] + strlen(c.text[1]) - 1);
	free_output(&c);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measurement_in_one_line),
		cmocka_unit_test(measurement_in_full_tells_errors_only_if_there_are_any),
		cmocka_unit_test(list_has_size_in_bytes_too),
		cmocka_unit_test(copy_tells_zeroes_only_if_there_were_any),
		cmocka_unit_test(progress_tells_rate_and_time_left),
		cmocka_unit_test(progress_is_for_those_who_want_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
