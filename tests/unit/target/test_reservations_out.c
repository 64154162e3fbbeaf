/* PERSISTENT RESERVE OUT (target/reservations_out.c): who it tells, whom it removes, and what it
 * refuses (SPC-4 sections 5.13 and 6.16). */
#include "tests/unit/target/reservation_commands.h"

static bool attention(struct tgt_session *s, uint16_t code)
{
	uint16_t a;

	return nexus_attention_take(s->nexus, &a) && a == code;
}

static void only_the_right_key_counts(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_int_equal(out(t.a, RESERVATION_RESERVE, 1, 1, 0)->status, SCSI_RESERVATION_CONFLICT);
	assert_int_equal(
		out(t.a, RESERVATION_REGISTER, 0, 1, 2)->status, SCSI_RESERVATION_CONFLICT);
	assert_int_equal(out(t.a, RESERVATION_CLEAR, 0, 1, 0)->status, SCSI_RESERVATION_CONFLICT);
	assert_good(out(t.a, RESERVATION_REGISTER, 0, KEY_A, 0xcccc));
	assert_good(out(t.a, RESERVATION_RESERVE, 1, 0xcccc, 0));
	assert_int_equal(
		out(t.b, RESERVATION_RESERVE, 1, KEY_B, 0)->status, SCSI_RESERVATION_CONFLICT);
	assert_good(out(t.a, RESERVATION_RESERVE, 1, 0xcccc, 0));
	assert_int_equal(
		out(t.a, RESERVATION_RESERVE, 3, 0xcccc, 0)->status, SCSI_RESERVATION_CONFLICT);
	server_free(t.v);
}

static void release_of_another_type_is_invalid(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 5, KEY_A, 0));
	assert_sense(out(t.a, RESERVATION_RELEASE, 6, KEY_A, 0), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_RELEASE_OF_PERSISTENT_RESERVATION);
	assert_good(out(t.b, RESERVATION_RELEASE, 5, KEY_B, 0)); /* not the holder: nothing */
	assert_int_equal(held_type(t.a), 5);
	assert_good(out(t.a, RESERVATION_RELEASE, 5, KEY_A, 0));
	assert_true(attention(t.b, ASC_RESERVATIONS_RELEASED));
	assert_int_equal(held_type(t.a), 0);
	server_free(t.v);
}

static void unregistering_holder_ends_the_reservation(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 5, KEY_A, 0));
	assert_good(out(t.a, RESERVATION_REGISTER, 0, KEY_A, 0));
	assert_true(attention(t.b, ASC_RESERVATIONS_RELEASED));
	assert_int_equal(held_type(t.b), 0);
	server_free(t.v);
}

static void reservation_of_all_ends_with_the_last(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 8, KEY_A, 0));
	assert_good(out(t.a, RESERVATION_REGISTER, 0, KEY_A, 0));
	assert_int_equal(held_type(t.b), 8);
	assert_int_equal(get_be64(t.v->memory + 8), 0); /* no key of its own */
	assert_good(out(t.b, RESERVATION_REGISTER, 0, KEY_B, 0));
	assert_int_equal(held_type(t.b), 0);
	server_free(t.v);
}

static void clear_removes_everything_and_counts_once(void **state)
{
	struct two t = two_registered();
	uint32_t generation;

	(void)state;
	assert_int_equal(keys(t.a), 2);
	generation = get_be32(t.v->memory);
	assert_int_equal(generation, 2);
	assert_good(out(t.a, RESERVATION_RESERVE, 3, KEY_A, 0));
	assert_good(out(t.a, RESERVATION_CLEAR, 0, KEY_A, 0));
	assert_true(attention(t.b, ASC_RESERVATIONS_PREEMPTED));
	assert_int_equal(keys(t.a), 0);
	assert_int_equal(get_be32(t.v->memory), generation + 1);
	server_free(t.v);
}

static void preempt_takes_the_reservation_over(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 3, KEY_A, 0));
	assert_good(out(t.b, RESERVATION_PREEMPT, 1, KEY_B, KEY_A));
	assert_true(attention(t.a, ASC_REGISTRATIONS_PREEMPTED));
	assert_int_equal(held_type(t.b), 1);
	assert_int_equal(keys(t.b), 1);
	assert_int_equal(can(t.a, true), SCSI_RESERVATION_CONFLICT);
	assert_int_equal(can(t.b, true), SCSI_GOOD);
	server_free(t.v);
}

static void preempt_without_a_reservation_removes_registrations(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_int_equal(
		out(t.b, RESERVATION_PREEMPT, 3, KEY_B, 0x1234)->status, SCSI_RESERVATION_CONFLICT);
	assert_sense(out(t.b, RESERVATION_PREEMPT, 3, KEY_B, 0), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	assert_good(out(t.b, RESERVATION_PREEMPT, 3, KEY_B, KEY_A));
	assert_int_equal(keys(t.b), 1);
	assert_int_equal(get_be32(t.v->memory), 3);
	assert_int_equal(held_type(t.b), 0);
	server_free(t.v);
}

static void preempt_and_abort_ends_when_all_is_at_rest(void **state)
{
	struct server *v = server_new_with((struct server_config){.delay_ns = LOOP_NS_PER_S});
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	struct reservation_out o = {.key = KEY_B, .service_action_key = KEY_A};
	uint8_t list[RESERVATION_OUT_LENGTH], cdb[CDB_SIZE];
	unsigned size;
	uint32_t reading, preempting;

	(void)state;
	assert_good(out(a, RESERVATION_REGISTER, 0, 0, KEY_A));
	assert_good(out(b, RESERVATION_REGISTER, 0, 0, KEY_B));
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 1, false, &size);
	reading = server_send(a, (struct server_send){.cdb = cdb, .read = true, .length = 512});
	reservation_out_encode(&o, list);
	cdb_persistent_reserve_out(cdb, RESERVATION_PREEMPT_AND_ABORT, 3, sizeof(list));
	preempting = server_send(
		b, (struct server_send){
			   .cdb = cdb, .write = true, .length = sizeof(list), .out = list});
	server_turn(v);
	assert_false(b->results[preempting].responded);
	server_advance(v, LOOP_NS_PER_S);
	assert_true(a->results[reading].aborted);
	assert_good(&b->results[preempting]);
	assert_true(attention(a, ASC_REGISTRATIONS_PREEMPTED));
	server_free(v);
}

static void what_cannot_be_registered(void **state)
{
	struct two t = two_registered();
	struct reservation_out o = {.key = KEY_A, .service_action_key = 1, .aptpl = true};
	uint8_t list[RESERVATION_OUT_LENGTH], cdb[CDB_SIZE];

	(void)state;
	reservation_out_encode(&o, list);
	cdb_persistent_reserve_out(cdb, RESERVATION_REGISTER, 0, sizeof(list));
	assert_sense(server_out(t.a, cdb, list, sizeof(list)), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	cdb_persistent_reserve_out(cdb, RESERVATION_REGISTER, 0, 23);
	assert_sense(server_out(t.a, cdb, list, 23), SENSE_ILLEGAL_REQUEST,
		ASC_PARAMETER_LIST_LENGTH_ERROR);
	assert_sense(out(t.a, RESERVATION_RESERVE, 2, KEY_A, 0), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_CDB);
	server_free(t.v);
}

static void registrants_have_a_limit(void **state)
{
	struct two t = two_registered();

	(void)state;
	for (size_t i = 2; i < RESERVATION_REGISTRANTS_MAX; i++)
		t.v->device->reservation->registrants[i].key = i;
	assert_good(out(t.a, RESERVATION_REGISTER, 0, KEY_A, 0));
	t.v->device->reservation->registrants[0] = (struct registrant){.key = 1};
	assert_sense(out(t.a, RESERVATION_REGISTER, 0, 0, KEY_A), SENSE_ILLEGAL_REQUEST,
		ASC_INSUFFICIENT_REGISTRATION_RESOURCES);
	server_free(t.v);
}

/* SPC-4 section 5.13.11.2.4, table 53. */
static void preempt_of_all_registrants_with_key_zero(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 7, KEY_A, 0));
	assert_good(out(t.b, RESERVATION_PREEMPT, 1, KEY_B, 0));
	assert_int_equal(held_type(t.b), 1);
	assert_int_equal(get_be64(t.v->memory + 8), KEY_B);
	assert_int_equal(keys(t.b), 1);
	assert_true(attention(t.a, ASC_REGISTRATIONS_PREEMPTED));
	server_free(t.v);
}

static void preempt_of_one_of_all_registrants_keeps_the_reservation(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 7, KEY_A, 0));
	assert_good(out(t.b, RESERVATION_PREEMPT, 1, KEY_B, KEY_A));
	assert_int_equal(held_type(t.b), 7);
	assert_int_equal(keys(t.b), 1);
	server_free(t.v);
}

/* The holder changes its type by preempting itself; who is registered stays so. */
static void holder_preempts_itself_to_change_the_type(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 5, KEY_A, 0));
	assert_good(out(t.a, RESERVATION_PREEMPT, 1, KEY_A, KEY_A));
	assert_int_equal(held_type(t.a), 1);
	assert_int_equal(keys(t.a), 2);
	assert_true(attention(t.b, ASC_RESERVATIONS_RELEASED));
	assert_int_equal(can(t.b, true), SCSI_RESERVATION_CONFLICT);
	server_free(t.v);
}

/* SPC-4 section 5.13.7.2: REGISTER by who is not registered, with a key, and without one. */
static void register_by_a_stranger(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_int_equal(
		out(s, RESERVATION_REGISTER, 0, KEY_A, KEY_B)->status, SCSI_RESERVATION_CONFLICT);
	assert_good(out(s, RESERVATION_REGISTER, 0, 0, 0));
	assert_int_equal(keys(s), 0);
	assert_int_equal(get_be32(v->memory), 0);
	assert_good(out(s, RESERVATION_REGISTER_AND_IGNORE, 0, KEY_B, KEY_A));
	assert_int_equal(keys(s), 1);
	assert_int_equal(get_be64(v->memory + 8), KEY_A);
	server_free(v);
}

/* PREEMPT AND ABORT that fails leaves registrations as they were (no abort without memory). */
static void no_memory_for_the_abort_is_busy_and_changes_nothing(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		struct two t = two_registered();

		alloc_fail_nth(n);
		assert_int_equal(out(t.b, RESERVATION_PREEMPT_AND_ABORT, 3, KEY_B, KEY_A)->status,
			SCSI_BUSY);
		alloc_fail_nth(0);
		assert_int_equal(keys(t.a), 2);
		assert_int_equal(get_be32(t.v->memory), 2);
		assert_false(nexus_has_attention(t.a->nexus));
		server_free(t.v);
	}
}

static void scope_and_type_are_looked_at_only_where_they_mean_something(void **state)
{
	struct two t = two_registered();
	struct reservation_out o = {.key = KEY_A, .service_action_key = KEY_A};
	uint8_t list[RESERVATION_OUT_LENGTH], cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	assert_good(out(t.a, RESERVATION_REGISTER, 0xf, KEY_A, KEY_A));
	reservation_out_encode(&o, list);
	cdb_persistent_reserve_out(cdb, RESERVATION_RESERVE, 1, sizeof(list));
	cdb[2] |= 0x20; /* a scope of elements, obsolete */
	r = server_out(t.a, cdb, list, sizeof(list));
	assert_sense(r, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	assert_int_equal(r->sense.field_byte, 2);
	for (uint8_t type = 0; type < 16; type++) {
		bool valid = type == 1 || type == 3 || (type >= 5 && type <= 8);

		r = out(t.a, RESERVATION_RESERVE, type, KEY_A, 0);
		assert_int_equal(r->status, valid ? SCSI_GOOD : SCSI_CHECK_CONDITION);
		if (valid)
			assert_good(out(t.a, RESERVATION_RELEASE, type, KEY_A, 0));
	}
	server_free(t.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_right_key_counts),
		cmocka_unit_test(release_of_another_type_is_invalid),
		cmocka_unit_test(unregistering_holder_ends_the_reservation),
		cmocka_unit_test(reservation_of_all_ends_with_the_last),
		cmocka_unit_test(clear_removes_everything_and_counts_once),
		cmocka_unit_test(preempt_takes_the_reservation_over),
		cmocka_unit_test(preempt_without_a_reservation_removes_registrations),
		cmocka_unit_test(preempt_and_abort_ends_when_all_is_at_rest),
		cmocka_unit_test(what_cannot_be_registered),
		cmocka_unit_test(registrants_have_a_limit),
		cmocka_unit_test(preempt_of_all_registrants_with_key_zero),
		cmocka_unit_test(preempt_of_one_of_all_registrants_keeps_the_reservation),
		cmocka_unit_test(holder_preempts_itself_to_change_the_type),
		cmocka_unit_test(register_by_a_stranger),
		cmocka_unit_test(no_memory_for_the_abort_is_busy_and_changes_nothing),
		cmocka_unit_test(scope_and_type_are_looked_at_only_where_they_mean_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
