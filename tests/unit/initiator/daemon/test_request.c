/* Fields of requests: what a filter means, and that nothing which could leave the state directory
 * becomes part of a path. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/control/control.h"

static int refused_with; /* exit status of the last refusal */

/* In place of the server's, which would need a client. */
static void __attribute__((format(printf, 3, 4)))
refuse(struct control_request *r, int status, const char *format, ...)
{
	(void)r;
	(void)format;
	refused_with = status;
}

#define control_fail refuse
#include "initiator/daemon/request.c"
#undef control_fail

static bool filter(const char *text, struct json_object **ret_json, struct request_filter *ret)
{
	refused_with = 0;
	*ret_json = json_tokener_parse(text);
	assert_non_null(*ret_json);
	return request_filter(NULL, *ret_json, ret);
}

static void an_empty_filter_means_all(void **state)
{
	struct request_filter f;
	struct json_object *json;

	(void)state;
	assert_true(filter("{}", &json, &f));
	assert_null(f.record.target_name);
	assert_null(f.record.address);
	assert_null(f.record.iface);
	assert_int_equal(f.record.port, 0);
	assert_int_equal(f.record.tpgt, -1);
	assert_int_equal(f.session, 0);
	json_object_put(json);
}

static void a_filter_takes_all_that_is_given(void **state)
{
	struct request_filter f;
	struct json_object *json;

	(void)state;
	assert_true(filter("{\"target\":\"iqn.2026-11.org.example:d\",\"portal\":"
			   "\"[2001:db8::1]:3261,2\",\"transport\":\"tcp\",\"session\":7}",
		&json, &f));
	assert_string_equal(f.record.target_name, "iqn.2026-11.org.example:d");
	assert_string_equal(f.record.address, "2001:db8::1");
	assert_int_equal(f.record.port, 3261);
	assert_int_equal(f.record.tpgt, 2);
	assert_string_equal(f.record.iface, "default");
	assert_int_equal(f.session, 7);
	json_object_put(json);
}

static void a_portal_without_a_port_has_the_standard_one(void **state)
{
	struct request_filter f;
	struct json_object *json;

	(void)state;
	assert_true(filter("{\"portal\":\"192.0.2.1\"}", &json, &f));
	assert_int_equal(f.record.port, 3260);
	assert_int_equal(f.record.tpgt, -1);
	json_object_put(json);
}

static void nonsense_is_refused_as_usage(void **state)
{
	static const char *const texts[] = {
		"{\"target\":\"../../etc\"}",
		"{\"target\":\"iqn.2026-11.org.example:a/b\"}",
		"{\"portal\":\"a/b\"}",
		"{\"portal\":\"192.0.2.1:99999\"}",
		"{\"portal\":\"\"}",
		"{\"transport\":\"rds\"}",
		"{\"session\":-1}",
		"{\"session\":\"one\"}",
	};
	struct request_filter f;
	struct json_object *json;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_false(filter(texts[i], &json, &f));
		assert_int_equal(refused_with, STATUS_USAGE);
		json_object_put(json);
	}
}

static void numbers_have_a_range_and_a_default(void **state)
{
	struct json_object *json = json_tokener_parse("{\"n\":7,\"big\":70,\"text\":\"7\"}");
	uint64_t n = 0;

	(void)state;
	assert_int_equal(request_number(json, "n", 10, 1, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(request_number(json, "none", 10, 1, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(request_number(json, "big", 10, 1, &n), -EINVAL);
	assert_int_equal(request_number(json, "text", 10, 1, &n), -EINVAL);
	assert_true(request_flag(json, "none", true));
	assert_false(request_flag(json, "n", false));
	json_object_put(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_filter_means_all),
		cmocka_unit_test(a_filter_takes_all_that_is_given),
		cmocka_unit_test(a_portal_without_a_port_has_the_standard_one),
		cmocka_unit_test(nonsense_is_refused_as_usage),
		cmocka_unit_test(numbers_have_a_range_and_a_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
