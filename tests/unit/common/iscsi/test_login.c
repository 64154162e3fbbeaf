/* common/iscsi/login.c and both machines against each other: every variant of a login. */
#include "tests/unit/common/iscsi/login_pair.h"

#include "common/base/alloc.h"

struct variant {
	struct login_auth target, initiator;
	bool discovery, rdma;
	size_t piece; /* bytes of text per PDU; 0: as is */
};

struct pair {
	struct policy policy;
	struct login *initiator, *target;
};

static void pair_new(struct pair *p, const struct variant *v)
{
	struct login_initiator_config ic = initiator_config();
	struct login_target_config tc = target_config(&p->policy);

	memset(p, 0, sizeof(*p));
	p->policy.auth = v->target;
	ic.auth = v->initiator;
	ic.rdma = tc.rdma = tc.require_rdma_extensions = v->rdma;
	ic.offer.immediate_data = true;
	ic.offer.max_burst_length = 1048576;
	ic.offer.default_time2retain = 0;
	tc.offer.immediate_data = v->rdma;
	tc.offer.max_recv_data_segment_length = 131072;
	if (v->discovery)
		ic.target_name = NULL;
	p->initiator = login_initiator_new(&ic);
	p->target = login_target_new(&tc);
	assert_non_null(p->initiator);
	assert_non_null(p->target);
	if (v->piece)
		p->initiator->piece_max = p->target->piece_max = v->piece;
}

static void pair_free(struct pair *p)
{
	login_free(p->initiator);
	login_free(p->target);
}

/* Both ends must have come to the same. */
static void assert_agreed(const struct pair *p, const struct variant *v)
{
	const struct iscsi_params *i = login_params(p->initiator), *t = login_params(p->target);

	assert_int_equal(login_tsih(p->initiator), 0x1234);
	assert_int_equal(login_tsih(p->target), 0x1234);
	assert_int_equal(p->policy.identified, 1);
	assert_int_equal(p->policy.established, 1);
	assert_string_equal(login_identity(p->target)->initiator_name, INITIATOR);
	assert_int_equal(login_identity(p->target)->cid, 7);
	assert_int_equal(i->default_time2retain, 0);
	assert_int_equal(t->default_time2retain, 0);
	assert_int_equal(i->peer_max_recv_data_segment_length, t->max_recv_data_segment_length);
	assert_int_equal(t->peer_max_recv_data_segment_length, i->max_recv_data_segment_length);
	assert_int_equal(i->header_digest, t->header_digest);
	assert_int_equal(i->rdma_extensions, t->rdma_extensions);
	if (v->discovery) {
		assert_null(login_identity(p->target)->target_name);
		return;
	}
	assert_string_equal(login_identity(p->target)->target_name, TARGET);
	assert_true(i->initial_r2t && t->initial_r2t);
	assert_int_equal(i->immediate_data, v->rdma);
	assert_int_equal(t->immediate_data, v->rdma);
	assert_int_equal(i->max_burst_length, 262144);
	assert_int_equal(t->max_burst_length, 262144);
	assert_int_equal(i->rdma_extensions, v->rdma);
	assert_int_equal(t->max_recv_data_segment_length, v->rdma ? 8192 : 131072);
}

static void succeeds(const struct variant *v)
{
	struct pair p;

	pair_new(&p, v);
	assert_int_equal(run(p.initiator, p.target), LOGIN_DONE);
	assert_agreed(&p, v);
	pair_free(&p);
}

/* The initiator must be told `status`. */
static void fails(const struct variant *v, unsigned status)
{
	struct pair p;
	const char *why;

	pair_new(&p, v);
	assert_int_equal(run(p.initiator, p.target), LOGIN_FAILED);
	assert_int_equal(login_failure(p.initiator, &why), status);
	assert_int_not_equal(why[0], 0);
	assert_int_equal(p.policy.established, 0);
	pair_free(&p);
}

#define NAME .name = "joe", .secret = SECRET
#define MUTUAL .mutual_name = "target", .mutual_secret = OTHER_SECRET

static void logins_succeed_over_both_movers_and_in_pieces(void **state)
{
	static const size_t pieces[] = {0, 1024, 64, 32};

	(void)state;
	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
			succeeds(&(struct variant){
				.discovery = kind & 1,
				.rdma = kind >> 1,
				.piece = pieces[i],
			});
}

static void chap_succeeds_in_every_algorithm_both_ways(void **state)
{
	static const uint8_t algorithms[] = {CHAP_MD5, CHAP_SHA1, CHAP_SHA256, CHAP_SHA3_256};

	(void)state;
	for (int both = 0; both < 2; both++)
		for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++) {
			struct variant v = {
				.target = {.chap_required = true, NAME, MUTUAL},
				.initiator = {.chap_required = true, NAME},
				.rdma = both,
				.piece = both ? 128 : 0,
			};

			if (both) {
				v.initiator.mutual_name = "target";
				v.initiator.mutual_secret = OTHER_SECRET;
			}
			v.initiator.algorithms[0] = algorithms[i];
			succeeds(&v);
			/* any name of the target's */
			v.initiator.mutual_name = NULL;
			succeeds(&v);
		}
}

static void lists_of_algorithms_meet(void **state)
{
	(void)state;
	succeeds(&(struct variant){
		.target = {.chap_required = true, NAME, .algorithms = {CHAP_MD5}},
		.initiator = {.chap_required = true, NAME},
	});
	fails(
		&(struct variant){
			.target = {.chap_required = true, NAME, .algorithms = {CHAP_MD5}},
			.initiator = {.chap_required = true, NAME, .algorithms = {CHAP_SHA256}},
		},
		LOGIN_AUTHENTICATION_FAILURE);
}

static void chap_that_only_one_side_wants(void **state)
{
	(void)state;
	succeeds(&(struct variant){.initiator = {.chap_required = true, NAME}});
	succeeds(&(struct variant){.target = {NAME}});
	succeeds(&(struct variant){.target = {NAME}, .initiator = {NAME}});
	succeeds(&(struct variant){
		.target = {.chap_required = true, NAME}, .initiator = {NAME}, .discovery = true});
	fails(&(struct variant){.target = {.chap_required = true, NAME}},
		LOGIN_AUTHENTICATION_FAILURE);
	/* the target has no secret at all */
	fails(&(struct variant){.target = {.chap_required = true},
		      .initiator = {.chap_required = true, NAME}},
		LOGIN_AUTHENTICATION_FAILURE);
	fails(&(struct variant){.initiator = {NAME, MUTUAL}}, LOGIN_AUTHENTICATION_FAILURE);
	/* it has one, but none to prove itself with */
	fails(&(struct variant){.target = {NAME}, .initiator = {NAME, MUTUAL}},
		LOGIN_AUTHENTICATION_FAILURE);
}

static void wrong_secrets_and_names_fail(void **state)
{
	const struct login_auth right = {.chap_required = true, NAME, MUTUAL};
	struct variant v = {.target = right, .initiator = right};

	(void)state;
	v.initiator.secret = "wrong secret";
	fails(&v, LOGIN_AUTHENTICATION_FAILURE);
	v.initiator = right;
	v.initiator.name = "jim";
	fails(&v, LOGIN_AUTHENTICATION_FAILURE);
}

/* Found by the initiator: the target believes that all is well so far. */
static void a_target_with_a_wrong_secret_or_name_is_left(void **state)
{
	const struct login_auth right = {.chap_required = true, NAME, MUTUAL};
	struct variant v = {.target = right, .initiator = right};

	(void)state;
	v.target.mutual_secret = "wrong secret";
	fails(&v, LOGIN_AUTHENTICATION_FAILURE);
	v.target = right;
	v.target.mutual_name = "mallory";
	fails(&v, LOGIN_AUTHENTICATION_FAILURE);
}

static void no_memory_is_survived(void **state)
{
	struct login_initiator_config ic = initiator_config();
	struct policy policy = {0};
	struct login_target_config tc = target_config(&policy);

	(void)state;
	alloc_fail_nth(1);
	assert_null(login_initiator_new(&ic));
	alloc_fail_nth(1);
	assert_null(login_target_new(&tc));
	alloc_fail_nth(0);
}

static void a_login_allocates_once(void **state)
{
	struct pair p;
	unsigned long before;

	(void)state;
	pair_new(&p, &(struct variant){.target = {NAME, MUTUAL}, .initiator = {NAME, MUTUAL}});
	before = alloc_asked();
	assert_int_equal(run(p.initiator, p.target), LOGIN_DONE);
	assert_int_equal(alloc_asked(), before);
	pair_free(&p);
}

static void every_status_has_its_sentence(void **state)
{
	(void)state;
	for (unsigned status = 0; status < 0x400; status++)
		assert_int_not_equal(login_status_text(status)[0], 0);
	assert_non_null(strstr(login_status_text(LOGIN_AUTHENTICATION_FAILURE), "secret"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logins_succeed_over_both_movers_and_in_pieces),
		cmocka_unit_test(chap_succeeds_in_every_algorithm_both_ways),
		cmocka_unit_test(lists_of_algorithms_meet),
		cmocka_unit_test(chap_that_only_one_side_wants),
		cmocka_unit_test(wrong_secrets_and_names_fail),
		cmocka_unit_test(a_target_with_a_wrong_secret_or_name_is_left),
		cmocka_unit_test(no_memory_is_survived),
		cmocka_unit_test(a_login_allocates_once),
		cmocka_unit_test(every_status_has_its_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
