/* The connection state machine against the diagrams of RFC 7143 sections 8.1.3 and 8.1.4: which
 * state leads to which, and by which transition. Every (role, state, event) is walked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/conn_fsm.h"

/* The state tables of sections 8.1.3 and 8.1.4: [from][to] = n of Tn; 0: none. */
static const unsigned initiator[9][9] = {
	[1] = {[2] = 1},
	[2] = {[1] = 2, [4] = 4},
	[4] = {[1] = 7, [5] = 5},
	[5] = {[1] = 8, [6] = 9, [7] = 11, [8] = 15},
	[6] = {[1] = 13, [6] = 14, [8] = 17},
	[7] = {[1] = 18, [6] = 10, [7] = 12, [8] = 16},
};
static const unsigned target[9][9] = {
	[1] = {[3] = 3},
	[3] = {[1] = 6, [4] = 4},
	[4] = {[1] = 7, [5] = 5},
	[5] = {[1] = 8, [6] = 9, [7] = 11, [8] = 15},
	[6] = {[1] = 13, [6] = 14, [8] = 17},
	[7] = {[1] = 18, [6] = 10, [7] = 12, [8] = 16},
};

static void walk(enum conn_role role, const unsigned table[9][9], bool seen[9][9])
{
	for (int s = CONN_FREE; s < CONN_STATES; s++) {
		for (int e = 0; e < CONN_EVENTS; e++) {
			struct conn_fsm f;
			unsigned number = conn_fsm_transition(role, s, e);
			int result;

			conn_fsm_init(&f, role);
			f.state = s;
			result = conn_fsm_step(&f, e, 1);
			assert_int_equal(f.trail.count, 1);
			if (result) {
				assert_int_equal(result, -EPROTO);
				assert_int_equal(f.state, s);
				assert_int_equal(number, 0);
				continue;
			}
			seen[s][f.state] = true;
			/* The exits of S8 are section 8.2's. */
			assert_int_equal(number, s == CONN_CLEANUP_WAIT ? 0 : table[s][f.state]);
			assert_true(number || f.state == CONN_FREE);
		}
	}
}

static void every_pair_is_as_the_standard_has_it(void **state)
{
	bool seen[2][9][9] = {0};

	(void)state;
	walk(CONN_INITIATOR, initiator, seen[0]);
	walk(CONN_TARGET, target, seen[1]);
	for (int from = 1; from < 9; from++) {
		for (int to = 1; to < 9; to++) {
			if (initiator[from][to])
				assert_true(seen[0][from][to]);
			if (target[from][to])
				assert_true(seen[1][from][to]);
		}
	}
}

static void step(struct conn_fsm *f, enum conn_event e, enum conn_state next)
{
	assert_int_equal(conn_fsm_step(f, e, 1000), 0);
	assert_int_equal(f->state, next);
}

static void an_initiator_from_connect_to_logout(void **state)
{
	struct conn_fsm f;
	char line[1024];

	(void)state;
	conn_fsm_init(&f, CONN_INITIATOR);
	step(&f, CONN_EVENT_CONNECT, CONN_XPT_WAIT);
	step(&f, CONN_EVENT_LOGIN, CONN_IN_LOGIN);
	assert_false(conn_fsm_carries_commands(&f));
	step(&f, CONN_EVENT_LOGIN_DONE, CONN_LOGGED_IN);
	assert_true(conn_fsm_carries_commands(&f));
	step(&f, CONN_EVENT_LOGOUT, CONN_IN_LOGOUT);
	step(&f, CONN_EVENT_LOGOUT_DONE, CONN_FREE);
	assert_true(conn_fsm_print(&f, line, sizeof(line)) > 0);
	assert_non_null(strstr(line, "S5 LOGGED_IN"));
}

static void a_target_that_loses_its_connection(void **state)
{
	struct conn_fsm f;

	(void)state;
	conn_fsm_init(&f, CONN_TARGET);
	step(&f, CONN_EVENT_ACCEPTED, CONN_XPT_UP);
	step(&f, CONN_EVENT_LOGIN, CONN_IN_LOGIN);
	step(&f, CONN_EVENT_LOGIN_DONE, CONN_LOGGED_IN);
	step(&f, CONN_EVENT_TRANSPORT_LOST, CONN_CLEANUP_WAIT);
	step(&f, CONN_EVENT_CLEANED_UP, CONN_FREE);
}

static void values_out_of_range_have_names_and_no_transition(void **state)
{
	struct conn_fsm f;

	(void)state;
	conn_fsm_init(&f, CONN_TARGET);
	assert_int_equal(conn_fsm_step(&f, CONN_EVENTS, 0), -EPROTO);
	assert_string_equal(conn_fsm_state_name(0), "S?");
	assert_string_equal(conn_fsm_state_name(CONN_STATES), "S?");
	assert_string_equal(conn_fsm_event_name(CONN_EVENTS), "?");
	for (int s = CONN_FREE; s < CONN_STATES; s++)
		assert_int_equal(conn_fsm_state_name(s)[1], '0' + s);
	for (int e = 0; e < CONN_EVENTS; e++)
		assert_non_null(conn_fsm_event_name(e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_is_as_the_standard_has_it),
		cmocka_unit_test(an_initiator_from_connect_to_logout),
		cmocka_unit_test(a_target_that_loses_its_connection),
		cmocka_unit_test(values_out_of_range_have_names_and_no_transition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
