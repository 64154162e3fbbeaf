/* The configuration of the memory and null stores (target/backend/ram.c). */
#include "tests/unit/target/backend/memory_store.h"

#include "target/backend/ram.h"

static void impossible_configurations_are_refused_with_a_line(void **state)
{
	static const struct memory_config configs[] = {{.size = 0}, {.size = 1000},
		{.size = 512, .block_size = 4096}, {.size = 4096, .block_size = 1024},
		{.size = UINT64_MAX - 511}};
	struct backend *b = NULL;
	char why[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		why[0] = '\0';
		assert_int_equal(-EINVAL, memory_backend_new(&configs[i], &b, why, sizeof(why)));
		assert_true(strlen(why) > 0);
		assert_int_equal(-EINVAL, null_backend_new(&configs[i], &b, why, sizeof(why)));
	}
	assert_null(b);
}

static void what_a_store_of_memory_says_of_itself(void **state)
{
	struct memory_config config = {.size = 8192, .readonly = true};
	struct backend_info info;
	char why[128];

	(void)state;
	assert_int_equal(0, ram_config_check(&config, "memory", why, sizeof(why)));
	ram_info_set(&info, &config);
	assert_int_equal(8192, info.size);
	assert_int_equal(512, info.block_size);
	assert_int_equal(4096, info.physical_block_size);
	assert_true(info.readonly);
	/* Gone with the process, cache or not: a flush changes nothing. */
	assert_false(info.volatile_cache);
	config.block_size = 4096;
	ram_info_set(&info, &config);
	assert_int_equal(4096, info.block_size);
}

static void the_line_names_the_store_and_what_would_be_right(void **state)
{
	struct memory_config config = {.size = 1000};
	char why[128];

	(void)state;
	assert_int_equal(-EINVAL, ram_config_check(&config, "null", why, sizeof(why)));
	assert_string_equal(
		"null: a size of 1000 bytes is not possible; give a multiple of 512, as in 1G",
		why);
	config = (struct memory_config){.size = 4096, .block_size = 520};
	assert_int_equal(-EINVAL, ram_config_check(&config, "memory", why, sizeof(why)));
	assert_string_equal("memory: a block size of 520 is not possible; 512 or 4096 is", why);
}

struct waiter {
	struct backend_request request;
	unsigned done;
	int status;
};

static void waiter_done(struct backend_request *r, int status)
{
	struct waiter *w = container_of(r, struct waiter, request);

	w->done++;
	w->status = status;
}

static void a_request_ends_from_the_loop(void **state)
{
	struct waiter w = {.request.done = waiter_done};
	struct loop *l = loop_new(&(struct loop_config){.virtual_clock = true});
	struct backend_channel *channel = NULL;
	struct backend b = {0};

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, ram_open_channel(&b, l, &channel));
	alloc_fail_nth(0);
	assert_null(channel);
	assert_int_equal(0, ram_open_channel(&b, l, &channel));
	assert_ptr_equal(&b, channel->backend);
	ram_complete(channel, &w.request, -EROFS);
	assert_int_equal(0, w.done);
	loop_turn(l, 0);
	assert_int_equal(1, w.done);
	assert_int_equal(-EROFS, w.status);
	ram_close_channel(channel);
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(impossible_configurations_are_refused_with_a_line),
		TEST(what_a_store_of_memory_says_of_itself),
		TEST(the_line_names_the_store_and_what_would_be_right),
		TEST(a_request_ends_from_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
