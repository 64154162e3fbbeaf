/* Backends from the rows of the configuration (target/daemon/stores.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "target/daemon/stores.c"
#include "tests/unit/target/backend/store.h"

/* The store of the LUN that `keys` describe. */
static int open_with(target_open_backend *how, const char *keys, struct config **ret_config,
	struct backend **ret, char why[256])
{
	struct config_report report = {0};
	char text[512];

	snprintf(text, sizeof(text),
		"targets:\n- name: iqn.2026-01.org.example:a\n  luns: [{lun: 0, %s}]\n", keys);
	if (config_parse("f", NULL, text, strlen(text), &report, ret_config) < 0)
		fail_msg("%s", report.lines[0]);
	config_report_free(&report);
	return how(config_item((*ret_config)->targets, struct config_target, 0).luns.items, ret,
		why, 256);
}

static struct backend *opened(const char *keys, struct config **ret_config)
{
	struct backend *b = NULL;
	char why[256] = "";

	if (open_with(store_open, keys, ret_config, &b, why))
		fail_msg("%s", why);
	return b;
}

static void every_kind_of_store_is_made(void **state)
{
	static const struct {
		const char *keys, *name;
	} rows[] = {
		{"backend: memory, size: 1M", "memory"},
		{"backend: 'null', size: 1M", "null"},
		{"backend: memory, size: 1M, delay: {read: 1ms}", "delay"},
		{"backend: memory, size: 1M, fault: {error: EIO}", "fault"},
		{"backend: memory, size: 1M, fault: {error: EIO}, delay: {read: 1ms}", "fault"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct config *c;
		struct backend *b = opened(rows[i].keys, &c);

		assert_string_equal(b->ops->name, rows[i].name);
		assert_int_equal(b->info.size, 1 << 20);
		backend_free(b);
		config_release(c);
	}
}

static void keys_reach_the_store(void **state)
{
	struct config *c;
	struct backend *b =
		opened("backend: memory, size: 1M, block_size: 4096, readonly: true", &c);

	(void)state;
	assert_int_equal(b->info.block_size, 4096);
	assert_true(b->info.readonly);
	backend_free(b);
	config_release(c);
}

/* Each name of an operation hits that operation, and no other. */
static void faults_hit_the_operation_that_they_name(void **state)
{
	static const struct {
		const char *name;
		enum backend_operation operation;
	} rows[] = {
		{"read", BACKEND_READ},
		{"write", BACKEND_WRITE},
		{"flush", BACKEND_FLUSH},
		{"discard", BACKEND_DISCARD},
		{"write_zeroes", BACKEND_WRITE_ZEROES},
	};
	uint8_t data[512] = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loop *l = loop_new(NULL);
		struct backend_channel *channel;
		struct config *c;
		struct backend *b;
		char keys[128];

		snprintf(keys, sizeof(keys),
			"backend: memory, size: 1M, fault: {operation: %s, error: EROFS}",
			rows[i].name);
		b = opened(keys, &c);
		assert_int_equal(backend_open_channel(b, l, &channel), 0);
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			assert_int_equal(io_run(channel, rows[k].operation, 0, data, 512),
				k == i ? -EROFS : 0);
		backend_close_channel(channel);
		backend_free(b);
		config_release(c);
		loop_free(l);
	}
}

static void an_image_that_is_not_there_is_one_line(void **state)
{
	struct backend *b = NULL;
	struct config *c;
	char why[256] = "";

	(void)state;
	assert_int_equal(open_with(store_open, "path: /no/such/image", &c, &b, why), -ENOENT);
	assert_null(b);
	assert_non_null(strstr(why, "/no/such/image: there is no such file"));
	config_release(c);
}

/* isertd --check beside the daemon that exports the image. */
static void an_image_in_use_can_be_looked_at(void **state)
{
	char path[] = "/tmp/iseran-stores-XXXXXX", keys[64], why[256];
	struct backend *first, *second = NULL;
	struct config *a, *b;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	close(fd);
	snprintf(keys, sizeof(keys), "path: %s", path);
	first = opened(keys, &a);
	assert_int_equal(open_with(store_look, keys, &b, &second, why), 0);
	backend_free(second);
	config_release(b);
	backend_free(first);
	config_release(a);
	unlink(path);
	assert_int_equal(open_with(store_look, "backend: memory, size: 1M", &b, &second, why), 0);
	backend_free(second);
	config_release(b);
}

static void any_failed_allocation_leaves_nothing_behind(void **state)
{
	struct backend *b = NULL;
	struct config *c;
	char why[256];
	unsigned long n;
	int err = -1;

	(void)state;
	backend_free(opened("backend: memory, size: 1M, delay: {read: 1ms}, fault: {}", &c));
	for (n = 1; err; n++) {
		unsigned long live = alloc_live();

		alloc_fail_nth(n);
		err = store_open(config_item(c->targets, struct config_target, 0).luns.items, &b,
			why, sizeof(why));
		alloc_fail_nth(0);
		if (err)
			assert_int_equal(alloc_live(), live);
		assert_true(n < 20);
	}
	assert_true(n > 3);
	backend_free(b);
	config_release(c);
	assert_int_equal(alloc_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_store_is_made),
		cmocka_unit_test(keys_reach_the_store),
		cmocka_unit_test(faults_hit_the_operation_that_they_name),
		cmocka_unit_test(an_image_that_is_not_there_is_one_line),
		cmocka_unit_test(an_image_in_use_can_be_looked_at),
		cmocka_unit_test(any_failed_allocation_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
