/* Which mover carries a record's sessions. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/movers.c"

static struct address loopback(void)
{
	struct address a;
	const char *wrong;

	assert_int_equal(0, address_parse("127.0.0.1:3260", 3260, &a, &wrong));
	return a;
}

static void each_transport_and_provider_has_its_mover(void **state)
{
	struct kit *k = *state;
	struct address portal = loopback();
	struct daemon_movers *m;

	assert_int_equal(0, daemon_movers_new(k->d.loop, &k->d.config, &m));
	assert_ptr_equal(
		m->tcp, daemon_movers_find(m, NODE_TRANSPORT_TCP, NODE_PROVIDER_AUTO, &portal));
	/* a provider is a matter of iSER alone */
	assert_ptr_equal(
		m->tcp, daemon_movers_find(m, NODE_TRANSPORT_TCP, NODE_PROVIDER_VERBS, &portal));
	assert_ptr_equal(m->iser,
		daemon_movers_find(m, NODE_TRANSPORT_ISER, NODE_PROVIDER_SOFTIWARP, &portal));
	assert_ptr_equal(m->iser_verbs,
		daemon_movers_find(m, NODE_TRANSPORT_ISER, NODE_PROVIDER_VERBS, &portal));
	assert_int_equal(verbs_built_in(), m->iser_verbs != NULL);
	assert_ptr_not_equal(m->tcp, m->iser);
	daemon_movers_free(m);
}

static void a_build_without_verbs_refuses_them_by_name_alone(void **state)
{
	struct kit *k = *state;
	struct address portal = loopback();
	struct dm_mover *iser = (struct dm_mover *)k;
	struct daemon_movers m = {.iser = iser};

	assert_null(daemon_movers_find(&m, NODE_TRANSPORT_ISER, NODE_PROVIDER_VERBS, &portal));
	assert_ptr_equal(
		iser, daemon_movers_find(&m, NODE_TRANSPORT_ISER, NODE_PROVIDER_AUTO, &portal));
	assert_ptr_equal(iser,
		daemon_movers_find(&m, NODE_TRANSPORT_ISER, NODE_PROVIDER_SOFTIWARP, &portal));
}

static void auto_takes_verbs_where_a_device_routes(void **state)
{
	struct kit *k = *state;
	struct address portal = loopback();
	char device[64];
	struct daemon_movers *m;

	assert_int_equal(0, daemon_movers_new(k->d.loop, &k->d.config, &m));
	assert_ptr_equal(
		m->iser_verbs && verbs_routes_to(&portal, device) ? m->iser_verbs : m->iser,
		daemon_movers_find(m, NODE_TRANSPORT_ISER, NODE_PROVIDER_AUTO, &portal));
	daemon_movers_free(m);
	daemon_movers_free(NULL);
}

static void every_failed_allocation_leaves_nothing(void **state)
{
	struct kit *k = *state;
	size_t before = alloc_live();
	struct daemon_movers *m = NULL;
	unsigned n = 1;
	int err;

	do {
		alloc_fail_nth(n++);
		err = daemon_movers_new(k->d.loop, &k->d.config, &m);
		alloc_fail_nth(0);
		if (err < 0) {
			assert_int_equal(-ENOMEM, err);
			assert_null(m);
			assert_int_equal(before, alloc_live());
		}
	} while (err < 0);
	assert_true(n > 4); /* the set, and at least one of each mover */
	daemon_movers_free(m);
	assert_int_equal(before, alloc_live());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(each_transport_and_provider_has_its_mover),
		KIT_TEST(a_build_without_verbs_refuses_them_by_name_alone),
		KIT_TEST(auto_takes_verbs_where_a_device_routes),
		KIT_TEST(every_failed_allocation_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
