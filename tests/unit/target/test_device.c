/* Logical units and nexuses (target/device.c, target/nexus.c). */
#include "tests/unit/target/device_server.h"

static struct backend *memory(uint64_t size)
{
	struct memory_config config = {.size = size};
	struct backend *b;
	char why[128];

	assert_int_equal(memory_backend_new(&config, &b, why, sizeof(why)), 0);
	return b;
}

static struct device *unit(uint16_t lun, const char *target)
{
	struct device_config config = {.lun = lun};
	struct device *d;

	assert_int_equal(device_new(&config, target, memory(1 << 20), &d), 0);
	return d;
}

static void names_are_the_same_at_every_start(void **state)
{
	struct device *a = unit(3, SERVER_TARGET), *b = unit(3, SERVER_TARGET);

	(void)state;
	assert_string_equal(a->designator, SERVER_TARGET ",L,0x0003");
	assert_memory_equal(a->naa, b->naa, 8);
	assert_int_equal(a->naa[0] >> 4, 3); /* locally assigned */
	assert_string_equal(a->serial, b->serial);
	device_free(a);
	device_free(b);
}

static void names_differ_by_lun_and_by_target(void **state)
{
	struct device *a = unit(0, SERVER_TARGET), *b = unit(1, SERVER_TARGET);
	struct device *c = unit(0, SERVER_TARGET "2");

	(void)state;
	assert_memory_not_equal(a->naa, b->naa, 8);
	assert_memory_not_equal(a->naa, c->naa, 8);
	device_free(a);
	device_free(b);
	device_free(c);
	device_free(NULL);
}

static void serial_number_that_is_given_is_kept(void **state)
{
	struct device_config config = {.lun = 0, .serial = "S-1"};
	struct device *d;

	(void)state;
	assert_int_equal(device_new(&config, SERVER_TARGET, memory(1 << 20), &d), 0);
	assert_string_equal(d->serial, "S-1");
	device_free(d);
}

static void unmap_is_offered_where_it_is_wanted_and_possible(void **state)
{
	static const struct {
		bool wanted;
		uint32_t granularity;
		bool offered;
	} ways[] = {{true, 4096, true}, {true, 0, false}, {false, 4096, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct device_config config = {.thin = ways[i].wanted};
		struct backend *b = memory(1 << 20);
		struct device *d;

		b->info.discard_granularity = ways[i].granularity;
		assert_int_equal(device_new(&config, SERVER_TARGET, b, &d), 0);
		assert_int_equal(d->thin, ways[i].offered);
		device_free(d);
	}
}

static void impossible_geometry_is_refused(void **state)
{
	struct device_config config = {.lun = 0, .block_size = 1024};
	unsigned long live = alloc_live();
	struct device *d;

	(void)state;
	assert_int_equal(device_new(&config, SERVER_TARGET, memory(1 << 20), &d), -EINVAL);
	config = (struct device_config){.lun = DEVICE_LUNS_MAX};
	assert_int_equal(device_new(&config, SERVER_TARGET, memory(1 << 20), &d), -EINVAL);
	config = (struct device_config){.block_size = 4096};
	assert_int_equal(device_new(&config, SERVER_TARGET, memory(512), &d), -EINVAL);
	assert_int_equal(alloc_live(), live);
}

static void every_failed_allocation_is_survived(void **state)
{
	struct device_config config = {.lun = 0};
	unsigned long live = alloc_live();
	struct device *d;

	(void)state;
	for (unsigned long n = 1; n < 10; n++) {
		struct backend *b = memory(1 << 20);
		int err;

		alloc_fail_nth(n);
		err = device_new(&config, SERVER_TARGET, b, &d);
		alloc_fail_nth(0);
		if (!err) {
			assert_true(n > 2);
			device_free(d);
		} else {
			assert_int_equal(err, -ENOMEM);
		}
		assert_int_equal(alloc_live(), live);
	}
}

static void attention_reaches_all_but_one(void **state)
{
	struct server *v = server_new();
	struct nexus *a = server_session(v, 0)->nexus, *b = server_session(v, 1)->nexus;

	(void)state;
	device_attention(v->device, a, 0x2a01);
	assert_false(nexus_has_attention(a));
	assert_true(nexus_has_attention(b));
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_the_same_at_every_start),
		cmocka_unit_test(names_differ_by_lun_and_by_target),
		cmocka_unit_test(serial_number_that_is_given_is_kept),
		cmocka_unit_test(unmap_is_offered_where_it_is_wanted_and_possible),
		cmocka_unit_test(impossible_geometry_is_refused),
		cmocka_unit_test(every_failed_allocation_is_survived),
		cmocka_unit_test(attention_reaches_all_but_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
