/* The verbs that isertadm may ask for (target/daemon/control.c): who may ask, and what is answered.
 */
#include "tests/unit/target/daemon/daemon_kit.h"

#include "common/control/fields.h"
#include "target/daemon/broadcast.c"
#include "target/daemon/control.c"

static unsigned stops;
static int reload_result;

/* Of the files that are not under test here: */
struct json_object *show_daemon(struct daemon *daemon)
{
	(void)daemon;
	return json_object_new_object();
}

struct json_object *show_sessions_of(struct worker *w)
{
	struct json_object *list = json_object_new_array();

	json_object_array_add(list, json_object_new_int((int)w->index));
	return list;
}

struct json_object *show_totals_of(struct worker *w)
{
	return json_object_new_int((int)w->index);
}

int daemon_reload(struct daemon *daemon, struct config_report *report)
{
	(void)daemon;
	if (reload_result == -EINVAL) {
		config_report_add(report, false, "f", 1, "first");
		config_report_add(report, false, "f", 2, "second");
	}
	return reload_result;
}

void daemon_stop(struct daemon *daemon)
{
	(void)daemon;
	stops++;
}

void daemon_stop_settle(struct daemon *daemon)
{
	(void)daemon;
}

static int setup(void **state)
{
	(void)state;
	daemon_kit_start(kit_default);
	stops = 0;
	reload_result = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_INFO);
	daemon_kit_stop();
	return 0;
}

/* One request; it is answered once, now or when the workers have been asked. */
static void ask(const char *text)
{
	struct json_object *json = json_tokener_parse(text);
	unsigned before = answered.count;

	assert_non_null(json);
	daemon_control(&isertd, NULL, json);
	daemon_kit_turn();
	json_object_put(json);
	assert_int_equal(answered.count, before + 1);
}

static void verbs_that_do_not_exist_are_refused(void **state)
{
	static const char *const wrong[] = {"{}", "{\"verb\":\"fly\"}", "{\"verb\":7}",
		"{\"verb\":null}", "{\"verb\":[\"show\"]}", "{\"verb\":\"\"}",
		"{\"verb\":\"Show\"}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		ask(wrong[i]);
		assert_int_equal(answered.status, EXIT_USAGE);
		assert_memory_equal(answered.error, "there is no verb \"", 18);
	}
}

/* Everybody may look; who may change something is root, or the daemon's user. */
static void strangers_may_look_but_change_nothing(void **state)
{
	static const char *const looks[] = {
		"{\"verb\":\"show\"}", "{\"verb\":\"sessions\"}", "{\"verb\":\"stats\"}"};
	static const char *const changes[] = {"{\"verb\":\"stop\"}", "{\"verb\":\"reload\"}",
		"{\"verb\":\"log\",\"level\":\"debug\"}", "{\"verb\":\"drop\",\"session\":\"1\"}"};

	(void)state;
	answered.privileged = false;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		ask(looks[i]);
		assert_int_equal(answered.status, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		ask(changes[i]);
		assert_int_equal(answered.status, EXIT_REFUSED);
	}
	assert_int_equal(stops, 0);
	assert_false(log_enabled(LOG_LEVEL_DEBUG));
}

static void what_workers_know_is_gathered(void **state)
{
	(void)state;
	ask("{\"verb\":\"sessions\"}");
	assert_int_equal(field_count(answered.json, "sessions"), 1);
	ask("{\"verb\":\"stats\"}");
	assert_int_equal(field_count(answered.json, "loops"), 1);
	assert_int_equal(field_number(answered.json, "logins"), 0);
	alloc_fail_nth(1);
	ask("{\"verb\":\"stats\"}");
	alloc_fail_nth(0);
	assert_int_equal(answered.status, EXIT_FAILED);
}

static void sessions_are_dropped_by_name_or_number(void **state)
{
	char text[64];
	struct kit_conn one, two;

	(void)state;
	assert_true(kit_login(&kit, &one, KIT_TARGET, 1));
	assert_true(kit_login(&kit, &two, KIT_TARGET, 2));
	snprintf(text, sizeof(text), "{\"verb\":\"drop\",\"session\":\"%u\"}", two.tsih);
	ask(text);
	assert_int_equal(answered.status, 0);
	assert_int_equal(field_number(answered.json, "dropped"), 1);
	assert_true(two.terminated && !one.terminated);
	kit_lose(&kit, &two);
	/* Names are compared without case (RFC 7143 section 4.2.7.1). */
	ask("{\"verb\":\"drop\",\"session\":\"IQN.2026-01.org.example:HOST\"}");
	assert_int_equal(answered.status, 0);
	assert_true(one.terminated);
	kit_lose(&kit, &one);
	ask("{\"verb\":\"drop\",\"session\":\"" KIT_INITIATOR "\"}");
	assert_int_equal(answered.status, EXIT_NOT_FOUND);
	assert_non_null(strstr(answered.error, KIT_INITIATOR));
	ask("{\"verb\":\"drop\"}");
	assert_int_equal(answered.status, EXIT_USAGE);
	ask("{\"verb\":\"drop\",\"session\":1}");
	assert_int_equal(answered.status, EXIT_USAGE);
}

static void a_drop_without_memory_is_answered(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		unsigned long live = alloc_live();

		alloc_fail_nth(n);
		ask("{\"verb\":\"drop\",\"session\":\"1\"}");
		alloc_fail_nth(0);
		assert_int_equal(answered.status, EXIT_FAILED);
		assert_int_equal(alloc_live(), live);
	}
}

static void every_mistake_of_a_reload_is_answered(void **state)
{
	(void)state;
	ask("{\"verb\":\"reload\"}");
	assert_int_equal(answered.status, 0);
	reload_result = -EINVAL;
	ask("{\"verb\":\"reload\"}");
	assert_int_equal(answered.status, EXIT_USAGE);
	assert_string_equal(answered.error, "f:1: first\nf:2: second");
	reload_result = -ENOMEM;
	ask("{\"verb\":\"reload\"}");
	assert_string_equal(answered.error, "nothing has changed: no memory");
}

static void a_level_outlives_a_reload(void **state)
{
	(void)state;
	ask("{\"verb\":\"log\",\"level\":\"debug\"}");
	assert_int_equal(answered.status, 0);
	assert_true(log_enabled(LOG_LEVEL_DEBUG));
	assert_int_equal(isertd.options.log_level, LOG_LEVEL_DEBUG);
	ask("{\"verb\":\"log\",\"level\":\"loud\"}");
	assert_int_equal(answered.status, EXIT_USAGE);
	ask("{\"verb\":\"log\"}");
	assert_int_equal(answered.status, EXIT_USAGE);
	assert_true(log_enabled(LOG_LEVEL_DEBUG));
}

static void a_stop_is_answered_before_it_begins(void **state)
{
	(void)state;
	ask("{\"verb\":\"stop\"}");
	assert_int_equal(answered.status, 0);
	assert_int_equal(stops, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(verbs_that_do_not_exist_are_refused),
		TEST(strangers_may_look_but_change_nothing),
		TEST(what_workers_know_is_gathered),
		TEST(sessions_are_dropped_by_name_or_number),
		TEST(a_drop_without_memory_is_answered),
		TEST(every_mistake_of_a_reload_is_answered),
		TEST(a_level_outlives_a_reload),
		TEST(a_stop_is_answered_before_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
