/* Who may log in to a target and what it sees there (target/access.c). */
#include "tests/unit/target/target_kit.h"

static const struct config_target *target_of(struct config *c)
{
	return &config_item(c->targets, struct config_target, 0);
}

static struct config *listed(const char *initiators)
{
	char text[512];

	snprintf(text, sizeof(text),
		"targets:\n- name: " KIT_TARGET "\n  luns:\n"
		"  - {lun: 0, backend: memory, size: 1M}\n"
		"  - {lun: 7, backend: memory, size: 1M}\n  initiators: %s\n",
		initiators);
	return kit_config(text);
}

/* The name of the entry that admits `initiator`; NULL: it is refused. */
static const char *admits(const struct config *c, const char *initiator)
{
	bool open = true;
	const struct config_initiator *i =
		access_find(&config_item(c->targets, struct config_target, 0), initiator, &open);

	assert_false(open);
	return i ? i->name : NULL;
}

static void a_target_without_a_list_is_open_to_everyone(void **state)
{
	struct config *c = kit_config(kit_default);
	bool open = false;

	(void)state;
	assert_null(access_find(target_of(c), KIT_INITIATOR, &open));
	assert_true(open);
	assert_true(access_shows(NULL, 0));
	assert_true(access_shows(NULL, 16383));
	config_release(c);
}

/* RFC 7143 section 4.2.7.1: names are compared in the lower case that stringprep makes. */
static void a_name_is_found_in_any_case_and_whole(void **state)
{
	struct config *c = listed("[iqn.2026-01.org.example:a]");

	(void)state;
	assert_non_null(admits(c, "iqn.2026-01.org.example:a"));
	assert_non_null(admits(c, "IQN.2026-01.ORG.example:A"));
	assert_null(admits(c, "iqn.2026-01.org.example:ab"));
	assert_null(admits(c, "iqn.2026-01.org.example:"));
	assert_null(admits(c, ""));
	config_release(c);
}

static void patterns_stand_for_many_names(void **state)
{
	struct config *c = listed("['iqn.2026-01.org.example:rack?-*', 'eui.*']");

	(void)state;
	assert_non_null(admits(c, "iqn.2026-01.org.example:rack1-host9"));
	assert_non_null(admits(c, "iqn.2026-01.org.example:rack1-"));
	assert_null(admits(c, "iqn.2026-01.org.example:rack12-a"));
	assert_non_null(admits(c, "eui.02004567A425678D"));
	/* What an initiator says is a name, never a pattern. */
	assert_null(admits(c, "*"));
	config_release(c);
}

static void the_first_entry_that_matches_counts(void **state)
{
	struct config *c = listed("[{name: 'iqn.2026-01.org.example:*', luns: [7]}, "
				  "{name: 'iqn.2026-01.org.example:a', luns: [0]}]");
	bool open;
	const struct config_initiator *i =
		access_find(target_of(c), "iqn.2026-01.org.example:a", &open);

	(void)state;
	assert_string_equal(i->name, "iqn.2026-01.org.example:*");
	assert_true(access_shows(i, 7));
	assert_false(access_shows(i, 0));
	assert_false(access_shows(i, 8));
	config_release(c);
}

static void an_entry_without_luns_shows_all(void **state)
{
	struct config *c = listed("['*']");
	bool open;
	const struct config_initiator *i = access_find(target_of(c), KIT_INITIATOR, &open);

	(void)state;
	assert_true(access_shows(i, 0));
	assert_true(access_shows(i, 7));
	config_release(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_without_a_list_is_open_to_everyone),
		cmocka_unit_test(a_name_is_found_in_any_case_and_whole),
		cmocka_unit_test(patterns_stand_for_many_names),
		cmocka_unit_test(the_first_entry_that_matches_counts),
		cmocka_unit_test(an_entry_without_luns_shows_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
