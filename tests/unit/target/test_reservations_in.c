/* PERSISTENT RESERVE IN (target/reservations_in.c): SPC-4 section 6.15. */
#include "tests/unit/target/reservation_commands.h"

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

/* SPC-4 section 6.15.2. */
static void keys_are_listed_with_the_generation(void **state)
{
	struct two t = two_registered();
	const uint8_t *d = t.v->memory;

	(void)state;
	in(t.a, RESERVATION_READ_KEYS);
	assert_int_equal(get_be32(d), 2); /* PRGENERATION: two registrations so far */
	assert_int_equal(get_be32(d + 4), 16);
	assert_int_equal(get_be64(d + 8), KEY_A);
	assert_int_equal(get_be64(d + 16), KEY_B);
	/* Reading counts as nothing; unregistering does. */
	in(t.b, RESERVATION_READ_KEYS);
	assert_int_equal(get_be32(d), 2);
	assert_good(out(t.a, RESERVATION_REGISTER, 0, KEY_A, 0));
	in(t.b, RESERVATION_READ_KEYS);
	assert_int_equal(get_be32(d), 3);
	assert_int_equal(get_be32(d + 4), 8);
	assert_int_equal(get_be64(d + 8), KEY_B);
	server_free(t.v);
}

/* SPC-4 section 6.15.3. */
static void reservation_is_told_with_key_scope_and_type(void **state)
{
	struct two t = two_registered();
	const uint8_t *d = t.v->memory;

	(void)state;
	in(t.a, RESERVATION_READ_RESERVATION);
	assert_int_equal(get_be32(d + 4), 0);
	assert_good(out(t.b, RESERVATION_RESERVE, 3, KEY_B, 0));
	in(t.a, RESERVATION_READ_RESERVATION);
	assert_int_equal(get_be32(d), 2); /* RESERVE does not count */
	assert_int_equal(get_be32(d + 4), 16);
	assert_int_equal(get_be64(d + 8), KEY_B);
	assert_int_equal(d[21], 3); /* scope: logical unit; Exclusive Access */
	server_free(t.v);
}

static void all_registrants_are_holders_where_all_hold(void **state)
{
	struct two t = two_registered();
	const uint8_t *d = t.v->memory + 8;

	(void)state;
	assert_good(out(t.a, RESERVATION_RESERVE, 7, KEY_A, 0));
	in(t.a, RESERVATION_READ_FULL_STATUS);
	assert_int_equal(d[12], 1);
	assert_int_equal(d[13], 7);
	d += 24 + get_be32(d + 20);
	assert_int_equal(d[12], 1);
	assert_int_equal(get_be16(d + 18), 1); /* relative target port */
	server_free(t.v);
}

static void allocation_length_cuts_but_the_length_says_all(void **state)
{
	struct two t = two_registered();
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (uint16_t n = 8; n <= 24; n++) {
		cdb_persistent_reserve_in(cdb, RESERVATION_READ_KEYS, n);
		assert_int_equal(server_in(t.a, cdb, 4096)->put_end, n);
		assert_int_equal(get_be32(t.v->memory + 4), 16);
	}
	server_free(t.v);
}

/* The longest answer: every place is taken, every name as long as names get. */
static void full_status_of_a_full_table_fits(void **state)
{
	struct two t = two_registered();
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++) {
		struct registrant *g = &t.v->device->reservation->registrants[i];

		g->key = i + 1;
		memset(g->initiator_port, 'i', 223);
		strcpy(g->initiator_port + 223, ",i,0x80123456789a");
	}
	cdb_persistent_reserve_in(cdb, RESERVATION_READ_FULL_STATUS, 65535);
	assert_good(server_in(t.a, cdb, 65535));
	/* 24 bytes, and a TransportID of 4 and a name of 240 with its NUL, padded to 4. */
	assert_int_equal(get_be32(t.v->memory + 4), RESERVATION_REGISTRANTS_MAX * (24 + 4 + 244));
	server_free(t.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_status_names_the_ports),
		cmocka_unit_test(keys_are_listed_with_the_generation),
		cmocka_unit_test(reservation_is_told_with_key_scope_and_type),
		cmocka_unit_test(all_registrants_are_holders_where_all_hold),
		cmocka_unit_test(allocation_length_cuts_but_the_length_says_all),
		cmocka_unit_test(full_status_of_a_full_table_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
