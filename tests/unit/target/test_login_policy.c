/* Who may log in: unknown targets, access lists, CHAP of the target, of an initiator and of
 * discovery, limits, TSIHs; and what becomes of a login that says nothing or nonsense. */
#include "tests/unit/target/target_kit.h"

static struct kit kit;

static void start(const char *text)
{
	kit_start(&kit, text);
}

static int teardown(void **state)
{
	(void)state;
	kit_stop(&kit);
	return 0;
}

/* The login is refused with that status, and the connection closed behind the answer. */
static void refused(const struct login_initiator_config *config, unsigned status)
{
	struct kit_conn c;

	kit_accept(&kit, &c);
	assert_false(kit_login_with(&kit, &c, config));
	assert_int_equal(c.refused_with, status);
	assert_true(c.terminated);
	assert_true(c.graceful);
	kit_lose(&kit, &c);
	assert_int_equal(registry_count(&kit.set->registry), 0);
	assert_int_equal(kit.set->logins, 0);
}

static void admitted(const struct login_initiator_config *config)
{
	struct kit_conn c;

	kit_accept(&kit, &c);
	assert_true(kit_login_with(&kit, &c, config));
	assert_int_equal(kit.set->logins, 0);
	kit_lose(&kit, &c);
}

static void a_target_that_is_not_there_is_not_found(void **state)
{
	struct login_initiator_config config = kit_login_config("iqn.2026-01.org.example:none", 1);

	(void)state;
	start(kit_default);
	refused(&config, LOGIN_NOT_FOUND);
}

static void only_those_in_the_list_are_admitted(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);

	(void)state;
	start("targets:\n- name: " KIT_TARGET "\n  initiators: [iqn.2026-01.org.example:h*]\n");
	admitted(&config);
	config.initiator_name = "iqn.2026-01.org.example:other";
	refused(&config, LOGIN_AUTHORIZATION_FAILURE);
}

static void a_secret_of_the_target_is_asked_for(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);

	(void)state;
	start("targets:\n- name: " KIT_TARGET "\n  chap: {name: joe, secret: twelve letters}\n");
	refused(&config, LOGIN_AUTHENTICATION_FAILURE);
	config.auth = (struct login_auth){.name = "joe", .secret = "twelve letter"};
	refused(&config, LOGIN_AUTHENTICATION_FAILURE);
	config.auth.secret = "twelve letters";
	admitted(&config);
}

static void an_initiators_own_secret_stands_for_the_targets(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);

	(void)state;
	start("targets:\n- name: " KIT_TARGET "\n  chap: {name: joe, secret: twelve letters}\n"
	      "  initiators:\n"
	      "  - name: " KIT_INITIATOR "\n"
	      "    chap: {name: host, secret: other letters}\n"
	      "  - '*'\n");
	config.auth = (struct login_auth){.name = "joe", .secret = "twelve letters"};
	refused(&config, LOGIN_AUTHENTICATION_FAILURE);
	config.auth = (struct login_auth){.name = "host", .secret = "other letters"};
	admitted(&config);
	config.auth = (struct login_auth){.name = "joe", .secret = "twelve letters"};
	config.initiator_name = "iqn.2026-01.org.example:third";
	admitted(&config);
}

static void both_ends_prove_themselves_where_that_is_asked(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);

	(void)state;
	start("targets:\n- name: " KIT_TARGET
	      "\n  chap:\n    name: joe\n    secret: twelve letters\n"
	      "    mutual: {name: me, secret: letters twelve}\n");
	config.auth = (struct login_auth){.name = "joe",
		.secret = "twelve letters",
		.mutual_name = "me",
		.mutual_secret = "letters twelve"};
	admitted(&config);
}

static void only_the_algorithms_of_the_configuration_are_taken(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);

	(void)state;
	start("targets:\n- name: " KIT_TARGET "\n  chap: {name: joe, secret: twelve letters, "
	      "algorithms: [sha256]}\n");
	config.auth = (struct login_auth){.name = "joe", .secret = "twelve letters"};
	config.auth.algorithms[0] = CHAP_MD5;
	refused(&config, LOGIN_AUTHENTICATION_FAILURE);
	config.auth.algorithms[0] = CHAP_SHA256;
	admitted(&config);
}

static void discovery_has_its_own_secret(void **state)
{
	struct login_initiator_config config = kit_login_config(NULL, 1);

	(void)state;
	start("discovery:\n  chap: {name: finder, secret: twelve letters}\n");
	refused(&config, LOGIN_AUTHENTICATION_FAILURE);
	config.auth = (struct login_auth){.name = "finder", .secret = "twelve letters"};
	admitted(&config);
}

static void limits_refuse_with_out_of_resources(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 2);
	struct kit_conn first, second;

	(void)state;
	start("max_target_sessions: 1\ntargets:\n- name: " KIT_TARGET "\n");
	assert_true(kit_login(&kit, &first, KIT_TARGET, 1));
	kit_accept(&kit, &second);
	assert_false(kit_login_with(&kit, &second, &config));
	assert_int_equal(second.refused_with, LOGIN_OUT_OF_RESOURCES);
	kit_lose(&kit, &second);
	kit_lose(&kit, &first);
}

static void too_many_logins_at_a_time_are_dropped(void **state)
{
	struct kit_conn first, second;

	(void)state;
	start("max_logins: 1\n");
	kit_accept(&kit, &first);
	kit_accept(&kit, &second);
	assert_false(first.terminated);
	assert_true(second.terminated);
	kit_lose(&kit, &first);
	kit_lose(&kit, &second);
	assert_int_equal(kit.set->logins, 0);
}

static void an_unknown_tsih_is_no_session(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);

	(void)state;
	start(kit_default);
	config.tsih = 99;
	refused(&config, LOGIN_SESSION_DOES_NOT_EXIST);
}

static void a_silent_connection_is_dropped_after_the_login_timeout(void **state)
{
	struct kit_conn c;

	(void)state;
	start("login_timeout: 100ms\n");
	kit_accept(&kit, &c);
	assert_false(c.terminated);
	loop_advance(kit.worker->loop, 99 * LOOP_NS_PER_MS);
	assert_false(c.terminated);
	loop_advance(kit.worker->loop, LOOP_NS_PER_MS);
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void another_request_instead_of_a_login_ends_the_connection(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_OUT, .final = true, .itt = 1};
	struct kit_conn c;

	(void)state;
	start(kit_default);
	kit_accept(&kit, &c);
	kit_deliver(&kit, &c, &pdu, NULL, 0);
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void nobody_logs_in_while_the_daemon_stops(void **state)
{
	struct kit_conn c;

	(void)state;
	start(kit_default);
	atomic_store(&kit.set->draining, true);
	kit_accept(&kit, &c);
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

/* Whatever allocation of accept and login fails: the connection fails, and nothing is left of it.
 */
static void the_failure_of_every_allocation_is_survived(void **state)
{
	const struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);
	bool in = false;

	(void)state;
	start(kit_default);
	for (unsigned long n = 1; !in; n++) {
		struct login *l = login_initiator_new(&config);
		struct kit_conn c = {0};
		const struct kit_sent *s;
		const void *data;
		struct iscsi_pdu pdu;

		login_initiator_start(l);
		pdu = *login_out(l, &data);
		alloc_fail_nth(n);
		kit_accept(&kit, &c);
		if (c.base.up && !c.terminated)
			kit_deliver(&kit, &c, &pdu, data, pdu.data_length);
		alloc_fail_nth(0);
		s = kit_next(&c);
		in = s && !s->pdu.login_response.status_class && !c.terminated;
		kit_lose(&kit, &c);
		login_free(l);
		assert_true(list_empty(&kit.worker->conns));
		assert_true(list_empty(&kit.worker->sessions));
		assert_int_equal(kit.set->logins, 0);
		assert_true(n < 100);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_target_that_is_not_there_is_not_found),
		TEST(only_those_in_the_list_are_admitted),
		TEST(a_secret_of_the_target_is_asked_for),
		TEST(an_initiators_own_secret_stands_for_the_targets),
		TEST(both_ends_prove_themselves_where_that_is_asked),
		TEST(only_the_algorithms_of_the_configuration_are_taken),
		TEST(discovery_has_its_own_secret),
		TEST(limits_refuse_with_out_of_resources),
		TEST(too_many_logins_at_a_time_are_dropped),
		TEST(an_unknown_tsih_is_no_session),
		TEST(a_silent_connection_is_dropped_after_the_login_timeout),
		TEST(another_request_instead_of_a_login_ends_the_connection),
		TEST(nobody_logs_in_while_the_daemon_stops),
		TEST(the_failure_of_every_allocation_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
