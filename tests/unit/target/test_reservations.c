/* Reservations (target/reservations.c): who may do what under them, and that a RESERVE ends with
 * its session: SPC-4 section 5.13, SPC-2 section 7.21. */
#include "tests/unit/target/reservation_commands.h"

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
		cmocka_unit_test(registration_outlives_the_session),
		cmocka_unit_test(reserve_excludes_the_other),
		cmocka_unit_test(reserve_ends_with_the_session),
		cmocka_unit_test(reserve_beside_a_persistent_reservation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
