/* common/iscsi/names.c: RFC 7143 section 4.2.7, RFC 3722. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iscsi/keys.h"
#include "common/iscsi/names.h"

/* The examples of RFC 7143 sections 4.2.7.4-4.2.7.6, and names of initiators in use. */
static void names_of_the_standard_are_right(void **state)
{
	static const char *const names[] = {
		"iqn.2001-04.com.example:storage:diskarrays-sn-a8675309",
		"iqn.2001-04.com.example",
		"iqn.2001-04.com.example:storage.tape1.sys1.xyz",
		"eui.02004567A425678D",
		"naa.52004567BA64678D",
		"naa.62004567BA64678D0123456789ABCDEF",
		"iqn.1994-05.com.redhat:7c0b7a9c8f3",
		"iqn.2026-12.org.example:caf\xc3\xa9",
	};
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(iscsi_name_check(names[i], &why), 0);
	assert_null(why);
}

static void a_wrong_name_is_told_what_is_wrong(void **state)
{
	static const char *const cases[][2] = {
		{"", "begins with"},
		{"disk1", "begins with"},
		{"iqn.", "year"},
		{"iqn.2026.org.example:a", "year"},
		{"iqn.2026-01.org.example:\xff", "UTF-8"},
		{"iqn.2026-13.org.example", "month"},
		{"iqn.2026-00.org.example", "month"},
		{"iqn.2026-01.", "domain"},
		{"iqn.2026-01.:disk", "domain"},
		{"iqn.2026-01.org.Example:a", "lower case"},
		{"iqn.2026-01.org.example:a_b", "'_'"},
		{"iqn.2026-01.org.example:a b", "only"},
		{"iqn.2026-01.org.example:a\n", "only"},
		{"eui.02004567A425678", "16"},
		{"eui.02004567A425678G", "16"},
		{"naa.52004567BA64678D0", "32"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = NULL;

		assert_int_equal(iscsi_name_check(cases[i][0], &why), -EINVAL);
		assert_non_null(strstr(why, cases[i][1]));
	}
}

static void a_name_has_at_most_223_bytes(void **state)
{
	char name[ISCSI_NAME_MAX + 2] = "iqn.2026-01.org.example:";
	const char *why = NULL;

	(void)state;
	memset(name + 24, 'a', sizeof(name) - 25);
	assert_int_equal(iscsi_name_check(name, &why), -EINVAL);
	assert_non_null(strstr(why, "223"));
	name[ISCSI_NAME_MAX] = '\0';
	assert_int_equal(iscsi_name_check(name, &why), 0);
}

static void capitals_are_lowered(void **state)
{
	char name[] = "IQN.2026-01.Org.Example:Disk-1";

	(void)state;
	iscsi_name_lower(name);
	assert_string_equal(name, "iqn.2026-01.org.example:disk-1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_the_standard_are_right),
		cmocka_unit_test(a_wrong_name_is_told_what_is_wrong),
		cmocka_unit_test(a_name_has_at_most_223_bytes),
		cmocka_unit_test(capitals_are_lowered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
