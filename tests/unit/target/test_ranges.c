/* Discarding and writing zeros in ranges (target/ranges.c), as UNMAP and WRITE SAME ask for it. */
#include "tests/unit/target/unmap_kit.h"

static const struct server_config slow = {.delay_ns = LOOP_NS_PER_MS};

static void extents_read_as_zeros(void **state)
{
	static const struct unmap_extent extents[] = {{8, 8}, {100, 0}, {32, 1}};
	uint8_t *data = server_pattern(64 * 512, 1), zeros[4096] = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct server *v = server_new_with(i ? slow : (struct server_config){0});
		struct tgt_session *s = server_session(v, 0);

		server_write(s, 0, 64, data, 64 * 512);
		assert_good(unmap(s, extents, 3));
		server_read(s, 0, 64, 64 * 512);
		assert_memory_equal(v->memory, data, 4096);
		assert_memory_equal(v->memory + 4096, zeros, 4096);
		assert_memory_equal(v->memory + 8192, data + 8192, 8192);
		assert_memory_equal(v->memory + 32 * 512, zeros, 512);
		assert_memory_equal(v->memory + 33 * 512, data + 33 * 512, 31 * 512);
		server_free(v);
	}
	free(data);
}

static void full_store_is_a_space_allocation_error(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}};
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_DISCARD, .error = ENOSPC}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_sense(unmap(s, extents, 1), SENSE_DATA_PROTECT,
		ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	server_free(v);
}

static void abort_between_two_descriptors(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}, {8, 8}};
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t list[64], cdb[CDB_SIZE];
	size_t length = unmap_list_encode(extents, 2, list, sizeof(list));

	(void)state;
	cdb_unmap(cdb, (uint16_t)length);
	server_send(s, (struct server_send){
			       .cdb = cdb, .write = true, .length = (uint32_t)length, .out = list});
	server_turn(v);
	command_abort(list_first(&s->commands, struct command, session_link));
	server_advance(v, LOOP_NS_PER_MS);
	assert_true(s->results[0].aborted);
	server_free(v);
}

static uint32_t send_unmap(
	struct tgt_session *s, const struct unmap_extent *extents, size_t count, uint8_t list[64])
{
	size_t length = unmap_list_encode(extents, count, list, 64);
	uint8_t cdb[CDB_SIZE];

	cdb_unmap(cdb, (uint16_t)length);
	return server_send(
		s, (struct server_send){
			   .cdb = cdb, .write = true, .length = (uint32_t)length, .out = list});
}

/* SBC-3 section 5.28: who reads the list knows nothing of the second extent after a failure of it;
 * the first has been unmapped. */
static void second_extent_that_fails_ends_the_list(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}, {8, 8}, {16, 8}};
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_DISCARD, .after = 1, .count = 1, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(24 * 512, 1), zeros[4096] = {0};

	(void)state;
	server_write(s, 0, 24, data, 24 * 512);
	assert_sense(unmap(s, extents, 3), SENSE_MEDIUM_ERROR, ASC_WRITE_ERROR);
	server_read(s, 0, 24, 24 * 512);
	assert_memory_equal(v->memory, zeros, 4096);
	assert_memory_equal(v->memory + 4096, data + 4096, 8192);
	/* Nothing is held that would keep others out. */
	assert_good(unmap(s, extents, 3));
	free(data);
	server_free(v);
}

static void hold_of_another(struct range_hold *h)
{
	(void)h;
}

static void range_that_another_works_on_alone_is_waited_for(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}, {8, 8}};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct range_hold other = {.loop = v->workers[1].loop, .woken = hold_of_another};
	uint8_t list[64];
	uint32_t itt;

	(void)state;
	assert_true(range_lock_take(&v->device->ranges, &other, 0, 512, true));
	itt = send_unmap(s, extents, 2, list);
	server_turn(v);
	assert_false(s->results[itt].responded);
	range_lock_release(&other);
	server_turn(v);
	assert_good(&s->results[itt]);
	server_free(v);
}

static void abort_while_the_range_is_waited_for(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct range_hold other = {.loop = v->workers[1].loop, .woken = hold_of_another};
	uint8_t list[64];
	uint32_t itt;

	(void)state;
	assert_true(range_lock_take(&v->device->ranges, &other, 0, 512, true));
	itt = send_unmap(s, extents, 1, list);
	server_turn(v);
	command_abort(list_first(&s->commands, struct command, session_link));
	server_turn(v);
	assert_true(s->results[itt].aborted);
	range_lock_release(&other);
	server_turn(v);
	server_free(v);
}

static const struct backend_ops *recorded_under;
static unsigned recorded_durable;

static void record(struct backend_channel *c, struct backend_request *r)
{
	recorded_durable += r->operation == BACKEND_DISCARD && r->fua;
	recorded_under->submit(c, r);
}

static unsigned durable_discards(bool no_write_cache)
{
	static const struct unmap_extent extents[] = {{0, 8}, {8, 8}};
	struct server *v =
		server_new_with((struct server_config){.no_write_cache = no_write_cache});
	struct tgt_session *s = server_session(v, 0);
	struct backend_ops ops = *v->device->backend->ops;

	recorded_durable = 0;
	recorded_under = v->device->backend->ops;
	ops.submit = record;
	v->device->backend->ops = &ops;
	assert_good(unmap(s, extents, 2));
	v->device->backend->ops = recorded_under;
	server_free(v);
	return recorded_durable;
}

/* WCE 0 (SBC-3 section 6.4.5): what has GOOD status is on the medium. */
static void unmapped_blocks_stay_so_without_a_write_cache(void **state)
{
	(void)state;
	assert_int_equal(durable_discards(false), 0);
	assert_int_equal(durable_discards(true), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abort_between_two_descriptors),
		cmocka_unit_test(full_store_is_a_space_allocation_error),
		cmocka_unit_test(extents_read_as_zeros),
		cmocka_unit_test(second_extent_that_fails_ends_the_list),
		cmocka_unit_test(range_that_another_works_on_alone_is_waited_for),
		cmocka_unit_test(abort_while_the_range_is_waited_for),
		cmocka_unit_test(unmapped_blocks_stay_so_without_a_write_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
