/* I_T_L nexuses and their unit attentions (target/nexus.c): SAM-5 section 5.14. */
#include "tests/unit/target/device_server.h"

static void new_nexus_has_a_power_on_attention(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint16_t a;
	struct nexus *n;

	(void)state;
	assert_int_equal(nexus_new(v->device, s->worker->loop, s->channel, s, "x,i,0x1", &n), 0);
	assert_true(nexus_has_attention(n));
	assert_true(nexus_attention_take(n, &a));
	assert_int_equal(a, ASC_POWER_ON_RESET_OR_BUS_DEVICE_RESET);
	assert_false(nexus_attention_take(n, &a));
	nexus_free(n);
	nexus_free(NULL);
	server_free(v);
}

static void attentions_are_told_in_order_and_once(void **state)
{
	struct server *v = server_new();
	struct nexus *n = server_session(v, 0)->nexus;
	uint16_t a;

	(void)state;
	nexus_attention(n, 0x2a01);
	nexus_attention(n, 0x2a09);
	nexus_attention(n, 0x2a01);
	assert_true(nexus_attention_take(n, &a));
	assert_int_equal(a, 0x2a01);
	assert_true(nexus_attention_take(n, &a));
	assert_int_equal(a, 0x2a09);
	assert_false(nexus_has_attention(n));
	server_free(v);
}

static void oldest_attention_gives_way(void **state)
{
	struct server *v = server_new();
	struct nexus *n = server_session(v, 0)->nexus;
	uint16_t a;

	(void)state;
	for (uint8_t i = 0; i <= DEVICE_ATTENTIONS_MAX; i++)
		nexus_attention(n, (uint16_t)(0x3f00 | i));
	assert_true(nexus_attention_take(n, &a));
	assert_int_equal(a, 0x3f01);
	server_free(v);
}

static void code_is(struct nexus *n, uint16_t code)
{
	uint16_t a;

	assert_true(nexus_attention_take(n, &a));
	assert_int_equal(a, code);
}

static void post(struct server *v, struct nexus *n, uint8_t ascq)
{
	pthread_mutex_lock(&v->device->lock);
	nexus_attention_post(n, (uint16_t)(0x3f00 | ascq));
	pthread_mutex_unlock(&v->device->lock);
}

/* Another loop's attention stands behind those that are there, and once. */
static void posted_attentions_join_the_others(void **state)
{
	struct server *v = server_new();
	struct nexus *n = server_session(v, 0)->nexus;
	uint16_t a;

	(void)state;
	nexus_attention(n, 0x3f0e);
	post(v, n, 0x0e);
	post(v, n, 0x03);
	post(v, n, 0x03);
	code_is(n, 0x3f0e);
	code_is(n, 0x3f03);
	assert_false(nexus_attention_take(n, &a));
	server_free(v);
}

static void posted_attentions_have_a_limit_too(void **state)
{
	struct server *v = server_new();
	struct nexus *n = server_session(v, 0)->nexus;

	(void)state;
	for (unsigned i = 0; i < 3 * DEVICE_ATTENTIONS_MAX; i++)
		post(v, n, (uint8_t)i);
	for (unsigned i = 2 * DEVICE_ATTENTIONS_MAX; i < 3 * DEVICE_ATTENTIONS_MAX; i++)
		code_is(n, (uint16_t)(0x3f00 | i));
	assert_false(nexus_has_attention(n));
	server_free(v);
}

static void each_nexus_has_a_number_of_its_own(void **state)
{
	struct server *v = server_new();
	struct nexus *a = server_session(v, 0)->nexus, *b = server_session(v, 1)->nexus;
	struct nexus *again;
	uint64_t gone;

	(void)state;
	assert_int_not_equal(a->id, b->id);
	assert_int_equal(nexus_new(v->device, a->loop, a->channel, NULL, "x,i,0x1", &again), 0);
	gone = again->id;
	nexus_free(again);
	assert_int_equal(nexus_new(v->device, a->loop, a->channel, NULL, "x,i,0x1", &again), 0);
	assert_int_not_equal(again->id, gone); /* a message for the one does not hit the other */
	assert_string_equal(again->initiator_port, "x,i,0x1");
	nexus_free(again);
	server_free(v);
}

static void no_memory_for_a_nexus_is_survived(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct nexus *n = NULL;

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(
		nexus_new(v->device, s->worker->loop, s->channel, s, "x,i,0x1", &n), -ENOMEM);
	alloc_fail_nth(0);
	assert_null(n);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_nexus_has_a_power_on_attention),
		cmocka_unit_test(attentions_are_told_in_order_and_once),
		cmocka_unit_test(oldest_attention_gives_way),
		cmocka_unit_test(posted_attentions_join_the_others),
		cmocka_unit_test(posted_attentions_have_a_limit_too),
		cmocka_unit_test(each_nexus_has_a_number_of_its_own),
		cmocka_unit_test(no_memory_for_a_nexus_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
