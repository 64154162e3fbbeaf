/* The rows of the configuration (target/config_schema.c): defaults, bounds, names. */
#include "tests/unit/target/config_kit.h"

#include "target/config_schema.h"

static void absent_keys_have_their_defaults(void **state)
{
	struct config *c = parse(minimal);
	const struct config_target *t = &config_item(c->targets, struct config_target, 0);
	const struct config_lun *l = &config_item(t->luns, struct config_lun, 0);

	(void)state;
	assert_int_equal(c->portals.count, 0);
	assert_int_equal(c->queue_depth, 128);
	assert_int_equal(c->login_timeout_ns, 15000000000ull);
	assert_int_equal(c->arena_size, 64 << 20);
	assert_int_equal(t->initiators.count, 0);
	assert_null(t->chap);
	assert_int_equal(l->backend, CONFIG_STORE_FILE);
	assert_string_equal(l->path, "/srv/disk.img");
	assert_true(l->write_cache);
	assert_false(l->readonly);
	config_release(c);
}

/* Every default must be what its own row would take, and every row must say what it is for. */
static void rows_are_whole(const struct config_schema *schema, unsigned depth)
{
	struct config config = {0};
	struct config_reader reader = {.config = &config};
	unsigned char *section = calloc(1, schema->size);
	char why[320];

	assert_true(depth < 6);
	for (const struct config_row *row = schema->rows; row->name; row++) {
		assert_non_null(row->help);
		assert_true(row->offset >= sizeof(unsigned)); /* behind `line` */
		assert_true(row->offset < schema->size);
		assert_true(row->min <= row->max);
		if (row->fallback &&
			config_scalar(&reader, row, row->fallback, section, why, sizeof(why)))
			fail_msg("%s: %s", row->name, why);
		if (row->kind == CONFIG_SECTION || row->kind == CONFIG_LIST)
			rows_are_whole(row->schema, depth + 1);
		if (row->kind == CONFIG_CHOICE)
			assert_non_null(row->choices);
	}
	if (schema->shorthand)
		assert_string_equal(
			schema->shorthand, config_nearest(schema->rows, schema->shorthand));
	free(section);
}

static void every_row_is_whole_and_takes_its_default(void **state)
{
	(void)state;
	rows_are_whole(&config_schema_root, 0);
}

static void names_of_errors_are_their_numbers(void **state)
{
	static const int numbers[] = {EIO, ENOSPC, EROFS, ETIMEDOUT, EBUSY};
	static const char *const names[] = {"EIO", "ENOSPC", "EROFS", "ETIMEDOUT", "EBUSY"};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct config_target *t;
		char text[256];
		struct config *c;

		snprintf(text, sizeof(text),
			"targets:\n- name: iqn.2026-01.org.example:a\n  luns: [{lun: 0, path: /a, "
			"fault: {error: %s}}]\n",
			names[i]);
		c = parse(text);
		t = &config_item(c->targets, struct config_target, 0);
		assert_int_equal(config_fault_errno(config_item(
					 config_item(t->luns, struct config_lun, 0).faults,
					 struct config_fault, 0)
							    .error),
			numbers[i]);
		config_release(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_keys_have_their_defaults),
		cmocka_unit_test(every_row_is_whole_and_takes_its_default),
		cmocka_unit_test(names_of_errors_are_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
