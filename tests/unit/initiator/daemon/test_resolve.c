/* Addresses of portals: told from the loop, never from inside the call, and waited for at the end.
 */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "tests/kit/await.h"

#include "initiator/daemon/resolve.c"

struct told {
	unsigned times;
	bool found;
	char text[ADDRESS_TEXT_SIZE], reason[RECORDS_WHY_SIZE];
};

static void tell(void *owner, const struct address *address, const char *reason)
{
	struct told *t = owner;

	t->times++;
	t->found = address;
	if (address)
		address_print(address, t->text);
	snprintf(t->reason, sizeof(t->reason), "%s", reason ? reason : "");
}

static struct told look_for(struct daemon *d, const char *host, unsigned port)
{
	struct told t = {0};

	assert_int_equal(0, resolve_start(d, host, port, tell, &t));
	assert_int_equal(0, t.times);
	assert_int_equal(1, d->busy);
	AWAIT(d->loop, t.times);
	assert_int_equal(1, t.times);
	assert_int_equal(0, d->busy);
	return t;
}

static void numeric_addresses_need_no_thread(void **state)
{
	struct kit *k = *state;
	struct told t = look_for(&k->d, "192.0.2.1", 3260);

	assert_true(t.found);
	assert_string_equal("192.0.2.1:3260", t.text);
	assert_string_equal("", t.reason);
	t = look_for(&k->d, "2001:db8::1", 860);
	assert_string_equal("[2001:db8::1]:860", t.text);
	assert_true(is_numeric("192.0.2.1"));
	assert_true(is_numeric("fe80::1%eth0"));
	assert_false(is_numeric("storage.example"));
	assert_false(is_numeric("192.0.2"));
}

static void a_name_is_looked_up(void **state)
{
	struct kit *k = *state;
	struct told t = look_for(&k->d, "localhost", 3261);

	assert_true(t.found);
	assert_non_null(strstr(t.text, ":3261"));
}

static void an_address_that_is_none_is_told_with_its_portal(void **state)
{
	struct kit *k = *state;
	struct told t = look_for(&k->d, "1:2:3:nonsense", 3260);

	assert_false(t.found);
	assert_memory_equal("[1:2:3:nonsense]:3260: ", t.reason, 23);
	assert_true(strlen(t.reason) > 23);
}

static void without_memory_nothing_is_told(void **state)
{
	struct kit *k = *state;
	struct told t = {0};

	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, resolve_start(&k->d, "192.0.2.1", 3260, tell, &t));
	alloc_fail_nth(0);
	turns(&k->d);
	assert_int_equal(0, t.times);
	assert_int_equal(0, k->d.busy);
}

static void the_end_is_told_that_a_look_up_is_over(void **state)
{
	struct kit *k = *state;

	settled_count = 0;
	look_for(&k->d, "192.0.2.1", 3260);
	assert_int_equal(1, settled_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(numeric_addresses_need_no_thread),
		KIT_TEST(a_name_is_looked_up),
		KIT_TEST(an_address_that_is_none_is_told_with_its_portal),
		KIT_TEST(without_memory_nothing_is_told),
		KIT_TEST(the_end_is_told_that_a_look_up_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
