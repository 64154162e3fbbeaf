/* Reservations (target/reservations.c, reservations_in.c, reservations_out.c): SPC-4 section 5.13,
 * SPC-2 section 7.21. */
#include "tests/unit/target/device_server.h"

#include "target/reservations.h"

enum {
	KEY_A = 0xaaaa,
	KEY_B = 0xbbbb,
};

static struct server_result *out(
	struct tgt_session *s, uint8_t action, uint8_t type, uint64_t key, uint64_t new_key)
{
	struct reservation_out o = {.key = key, .service_action_key = new_key};
	uint8_t list[RESERVATION_OUT_LENGTH], cdb[CDB_SIZE];

	reservation_out_encode(&o, list);
	cdb_persistent_reserve_out(cdb, action, type, sizeof(list));
	return server_out(s, cdb, list, sizeof(list));
}

static void in(struct tgt_session *s, uint8_t action)
{
	uint8_t cdb[CDB_SIZE];

	cdb_persistent_reserve_in(cdb, action, 65535);
	assert_good(server_in(s, cdb, 65535));
}

static uint8_t can(struct tgt_session *s, bool write)
{
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	unsigned size;

	cdb_read_write(cdb, write ? SCSI_DATA_OUT : SCSI_DATA_IN, 0, 1, false, &size);
	return (write ? server_out(s, cdb, data, 512) : server_in(s, cdb, 512))->status;
}

static bool attention(struct tgt_session *s, uint16_t code)
{
	struct nexus_attention a;

	return nexus_attention_take(s->nexus, &a) && (a.asc << 8 | a.ascq) == code;
}

static unsigned keys(struct tgt_session *s)
{
	in(s, RESERVATION_READ_KEYS);
	return get_be32(s->server->memory + 4) / 8;
}

static uint8_t held_type(struct tgt_session *s)
{
	in(s, RESERVATION_READ_RESERVATION);
	return get_be32(s->server->memory + 4) ? s->server->memory[8 + 13] : 0;
}

struct two {
	struct server *v;
	struct tgt_session *a, *b;
};

/* Two initiators on two loops, both registered. */
static struct two two_registered(void)
{
	struct two t = {.v = server_new()};

	t.a = server_session(t.v, 0);
	t.b = server_session(t.v, 1);
	assert_good(out(t.a, RESERVATION_REGISTER, 0, 0, KEY_A));
	assert_good(out(t.b, RESERVATION_REGISTER_AND_IGNORE, 0, 99, KEY_B));
	return t;
}

static void who_may_what_under_each_type(void **state)
{
	/* registered other: read, write; unregistered other: read, write */
	static const struct {
		uint8_t type;
		bool registered_read, registered_write, read, write;
	} rows[] = {
		{RESERVATION_WRITE_EXCLUSIVE, true, false, true, false},
		{RESERVATION_EXCLUSIVE_ACCESS, false, false, false, false},
		{RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS, true, true, true, false},
		{RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS, true, true, false, false},
		{RESERVATION_WRITE_EXCLUSIVE_ALL, true, true, true, false},
		{RESERVATION_EXCLUSIVE_ACCESS_ALL, true, true, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct two t = two_registered();

		assert_good(out(t.a, RESERVATION_RESERVE, rows[i].type, KEY_A, 0));
		assert_int_equal(held_type(t.b), rows[i].type);
		assert_int_equal(can(t.a, false), SCSI_GOOD);
		assert_int_equal(can(t.a, true), SCSI_GOOD);
		assert_int_equal(can(t.b, false) == SCSI_GOOD, rows[i].registered_read);
		assert_int_equal(can(t.b, true) == SCSI_GOOD, rows[i].registered_write);
		assert_good(out(t.b, RESERVATION_REGISTER, 0, KEY_B, 0));
		assert_int_equal(
			can(t.b, false), rows[i].read ? SCSI_GOOD : SCSI_RESERVATION_CONFLICT);
		assert_int_equal(
			can(t.b, true), rows[i].write ? SCSI_GOOD : SCSI_RESERVATION_CONFLICT);
		assert_good(out(t.a, RESERVATION_RELEASE, rows[i].type, KEY_A, 0));
		assert_int_equal(can(t.b, true), SCSI_GOOD);
		server_free(t.v);
	}
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

static void registration_outlives_the_session(void **state)
{
	struct two t = two_registered();

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 3, KEY_A, 0));
	server_session_end(t.a);
	assert_int_equal(can(t.b, false), SCSI_RESERVATION_CONFLICT);
	assert_int_equal(keys(t.b), 2);
	server_free(t.v);
}

static void full_status_names_the_ports(void **state)
{
	struct two t = two_registered();
	const uint8_t *d;

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 5, KEY_A, 0));
	in(t.a, RESERVATION_READ_FULL_STATUS);
	d = t.v->memory + 8;
	assert_int_equal(get_be64(d), KEY_A);
	assert_int_equal(d[12], 1);
	assert_int_equal(d[13], 5);
	assert_int_equal(d[24], 0x45); /* iSCSI, with an ISID */
	assert_string_equal((const char *)d + 28, t.a->port);
	d += 24 + get_be32(d + 20);
	assert_int_equal(get_be64(d), KEY_B);
	assert_int_equal(d[12], 0);
	d += 24 + get_be32(d + 20);
	assert_int_equal(d - t.v->memory, 8 + get_be32(t.v->memory + 4));
	in(t.a, RESERVATION_REPORT_CAPABILITIES);
	assert_int_equal(get_be16(t.v->memory), 8);
	assert_int_equal(get_be16(t.v->memory + 4), 0xea01);
	server_free(t.v);
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

/* ---- RESERVE and RELEASE ---- */

static void reserve_excludes_the_other(void **state)
{
	struct server *v = server_new();
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t reserve[CDB_SIZE], release[CDB_SIZE], sense[CDB_SIZE], inquiry[CDB_SIZE];

	(void)state;
	cdb_reserve6(reserve);
	cdb_release6(release);
	cdb_mode_sense6(sense, 0x3f, 0, false, 255);
	cdb_inquiry(inquiry, 36);
	assert_good(server_none(a, reserve));
	assert_good(server_none(a, reserve));
	assert_int_equal(server_none(b, reserve)->status, SCSI_RESERVATION_CONFLICT);
	assert_good(server_none(b, release));
	assert_good(server_in(a, sense, 255));
	assert_int_equal(server_in(b, sense, 255)->status, SCSI_RESERVATION_CONFLICT);
	assert_good(server_in(b, inquiry, 36));
	assert_int_equal(can(b, false), SCSI_RESERVATION_CONFLICT);
	assert_good(server_none(a, release));
	assert_int_equal(can(b, true), SCSI_GOOD);
	server_free(v);
}

static void reserve_ends_with_the_session(void **state)
{
	struct server *v = server_new();
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t reserve[CDB_SIZE];

	(void)state;
	cdb_reserve6(reserve);
	assert_good(server_none(a, reserve));
	server_session_end(a);
	assert_good(server_none(b, reserve));
	server_free(v);
}

static void reserve_beside_a_persistent_reservation(void **state)
{
	struct two t = two_registered();
	uint8_t reserve[CDB_SIZE];

	(void)state;
	cdb_reserve6(reserve);
	assert_int_equal(server_none(t.a, reserve)->status, SCSI_RESERVATION_CONFLICT);
	assert_good(out(t.a, RESERVATION_RESERVE, 3, KEY_A, 0));
	assert_good(server_none(t.a, reserve));
	assert_int_equal(server_none(t.b, reserve)->status, SCSI_RESERVATION_CONFLICT);
	assert_int_equal(t.v->device->reservation->holder_nexus, 0);
	server_free(t.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_may_what_under_each_type),
		cmocka_unit_test(only_the_right_key_counts),
		cmocka_unit_test(release_of_another_type_is_invalid),
		cmocka_unit_test(unregistering_holder_ends_the_reservation),
		cmocka_unit_test(reservation_of_all_ends_with_the_last),
		cmocka_unit_test(clear_removes_everything_and_counts_once),
		cmocka_unit_test(preempt_takes_the_reservation_over),
		cmocka_unit_test(preempt_without_a_reservation_removes_registrations),
		cmocka_unit_test(preempt_and_abort_ends_when_all_is_at_rest),
		cmocka_unit_test(registration_outlives_the_session),
		cmocka_unit_test(full_status_names_the_ports),
		cmocka_unit_test(what_cannot_be_registered),
		cmocka_unit_test(registrants_have_a_limit),
		cmocka_unit_test(reserve_excludes_the_other),
		cmocka_unit_test(reserve_ends_with_the_session),
		cmocka_unit_test(reserve_beside_a_persistent_reservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
