/* The values of a configuration (target/config_scalar.c): what is right is read as it says, what is
 * wrong is told with what would be right. */
#include "tests/unit/target/config_kit.h"

static void every_kind_of_value_is_read(void **state)
{
	struct config *c =
		parse("portals: ['192.0.2.1', '[2001:db8::1]:3261', '*:0']\n"
		      "loops: 3\n"
		      "busy_poll: 50us\n"
		      "ping_interval: 5\n"
		      "log_level: debug\n"
		      "data_digest: crc32c\n"
		      "targets:\n"
		      "- name: iqn.2026-01.org.example:a\n"
		      "  alias: Disks of A\n"
		      "  chap: {name: joe, secret: 'twelve chars', algorithms: [sha256, md5],\n"
		      "         mutual: {name: target, secret: another twelve}}\n"
		      "  initiators:\n"
		      "  - iqn.1993-08.org.debian:01:*\n"
		      "  - name: iqn.2026-01.org.example:host\n"
		      "    luns: [7]\n"
		      "  luns:\n"
		      "  - {lun: 16383, backend: memory, size: 64M, block_size: 4K}\n"
		      "  - lun: 7\n"
		      "    backend: null\n"
		      "    size: 1T\n"
		      "    readonly: yes\n"
		      "    delay: {read: 5ms}\n"
		      "    fault: [{operation: write, from: 4K, to: 8K, error: ENOSPC}]\n");
	const struct config_target *t = &config_item(c->targets, struct config_target, 0);
	const struct config_lun *seven = &config_item(t->luns, struct config_lun, 0);
	const struct config_initiator *host =
		&config_item(t->initiators, struct config_initiator, 1);

	(void)state;
	assert_int_equal(c->portals.count, 3);
	assert_string_equal(
		config_item(c->portals, struct config_word, 1).word, "[2001:db8::1]:3261");
	assert_int_equal(c->loops, 3);
	assert_int_equal(c->busy_poll_ns, 50000);
	assert_int_equal(c->ping_interval_ns, 5000000000ull);
	assert_int_equal(c->data_digest, CONFIG_DIGEST_CRC32C);
	assert_string_equal(t->alias, "Disks of A");
	assert_string_equal(t->chap->secret, "twelve chars");
	assert_string_equal(t->chap->mutual->name, "target");
	assert_string_equal(config_item(t->chap->algorithms, struct config_word, 1).word, "md5");
	assert_string_equal(config_item(t->initiators, struct config_initiator, 0).name,
		"iqn.1993-08.org.debian:01:*");
	assert_int_equal(config_item(host->luns, struct config_number, 0).number, 7);
	/* LUNs are sorted. */
	assert_int_equal(seven->lun, 7);
	assert_int_equal(seven->backend, CONFIG_STORE_NULL);
	assert_int_equal(seven->size, 1ull << 40);
	assert_true(seven->readonly);
	assert_int_equal(seven->delay->read, 5000000);
	assert_int_equal(
		config_fault_errno(config_item(seven->faults, struct config_fault, 0).error),
		ENOSPC);
	assert_int_equal(config_item(t->luns, struct config_lun, 1).block_size, 4096);
	config_release(c);
}

/* What a root key is set to in nanoseconds or bytes; a complaint fails the test. */
static uint64_t read_as(const char *key, const char *value, size_t offset)
{
	char text[128];
	struct config *c;
	uint64_t read;

	snprintf(text, sizeof(text), "%s: %s\n", key, value);
	c = parse(text);
	read = *(const uint64_t *)((const char *)c + offset);
	config_release(c);
	return read;
}

static void refuses(const char *key, const char *value, const char *right)
{
	char text[128], expected[256];

	snprintf(text, sizeof(text), "%s: %s\n", key, value);
	snprintf(expected, sizeof(expected), "f:1: %s: \"%s\" is not right; %s", key, value, right);
	COMPLAINS(text, expected);
}

static void times_in_every_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{"2", 2000000000},
		{"2s", 2000000000},
		{"150ms", 150000000},
		{"200000us", 200000000},
		{"100000000ns", 100000000},
		{"3min", 180000000000},
	};
	size_t at = offsetof(struct config, login_timeout_ns);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(read_as("login_timeout", rows[i].text, at), rows[i].ns);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const wrong[] = {"soon", "5 s", "5h", "-5s", "1.5s", "s", "0x10s", "5S"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refuses("login_timeout", wrong[i], "a time such as 5s, 10ms or 20us");
	refuses("login_timeout", "99ms", "a time from 0.1s to 600s");
	refuses("login_timeout", "601s", "a time from 0.1s to 600s");
	refuses("login_timeout", "99999999999999999999s", "a time from 0.1s to 600s");
}

/* 307445735 minutes are 2^64 ns and 26 s: not to be taken for 26 s. */
static void a_time_that_does_not_fit_is_not_a_short_one(void **state)
{
	(void)state;
	refuses("login_timeout", "307445735min", "a time from 0.1s to 600s");
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n  luns:\n"
		  "  - {lun: 0, backend: memory, size: 1M, delay: {read: 307445735min}}\n",
		"f:4: targets[0].luns[0].delay.read: \"307445735min\" is not right; "
		"a time such as");
}

static void sizes_with_and_without_a_unit(void **state)
{
	size_t at = offsetof(struct config, arena_size);

	(void)state;
	assert_int_equal(read_as("arena_size", "16777216", at), 16777216);
	assert_int_equal(read_as("arena_size", "16M", at), 16777216);
	assert_int_equal(read_as("arena_size", "1G", at), 1073741824);
	refuses("arena_size", "15M", "bytes from 16777216 to 68719476736, such as 4096, 64K or 1G");
	refuses("arena_size", "a lot",
		"bytes from 16777216 to 68719476736, such as 4096, 64K or 1G");
	refuses("arena_size", "16777216T",
		"bytes from 16777216 to 68719476736, such as 4096, 64K or 1G");
}

static void numbers_at_and_beyond_their_bounds(void **state)
{
	size_t at = offsetof(struct config, queue_depth);

	(void)state;
	assert_int_equal(read_as("queue_depth", "1", at), 1);
	assert_int_equal(read_as("queue_depth", "1024", at), 1024);
	refuses("queue_depth", "0", "a number from 1 to 1024");
	refuses("queue_depth", "1025", "a number from 1 to 1024");
	refuses("queue_depth", "-1", "a number from 1 to 1024");
	refuses("queue_depth", "12x", "a number from 1 to 1024");
	refuses("queue_depth", "18446744073709551617", "a number from 1 to 1024");
}

static void words_for_true_and_false(void **state)
{
	static const char *const yes[] = {"true", "yes", "on", "True", "YES"};
	static const char *const no[] = {"false", "no", "off", "FALSE"};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		struct config *c;

		snprintf(text, sizeof(text), "require_rdma_extensions: %s\n", yes[i]);
		c = parse(text);
		assert_true(c->require_rdma_extensions);
		config_release(c);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		struct config *c;

		snprintf(text, sizeof(text), "immediate_data: %s\n", no[i]);
		c = parse(text);
		assert_false(c->immediate_data);
		config_release(c);
	}
	refuses("immediate_data", "1", "say true or false");
}

static void choices_are_named(void **state)
{
	(void)state;
	refuses("data_digest", "md5", "say optional, none or crc32c");
	/* What depends on a choice that is wrong is not complained about: one line, not two. */
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n"
		  "  luns: [{lun: 0, backend: tape}]\n",
		"targets[0].luns[0].backend: \"tape\" is not right; say file, memory or null");
}

static void words_have_a_length(void **state)
{
	(void)state;
	COMPLAINS("targets:\n- name: iqn.2026-01.org.example:a\n"
		  "  luns: [{lun: 0, path: /a, vendor: NINECHARS, revision: ''}]\n",
		"vendor: \"NINECHARS\" is not right; at most 8 characters",
		"revision: \"\" is not right; it must not be empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_value_is_read),
		cmocka_unit_test(times_in_every_unit),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(a_time_that_does_not_fit_is_not_a_short_one),
		cmocka_unit_test(sizes_with_and_without_a_unit),
		cmocka_unit_test(numbers_at_and_beyond_their_bounds),
		cmocka_unit_test(words_for_true_and_false),
		cmocka_unit_test(choices_are_named),
		cmocka_unit_test(words_have_a_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
