/* Text requests of the target: SendTargets in both kinds of session, who sees what, and answers
 * that are longer than one PDU. */
#include "tests/unit/target/target_kit.h"

static struct kit kit;

static const char three_targets[] = "targets:\n"
				    "- name: " KIT_TARGET "\n"
				    "- name: iqn.2026-01.org.example:other\n"
				    "- name: iqn.2026-01.org.example:secret\n"
				    "  initiators: iqn.2026-01.org.example:nobody\n";

static int setup(void **state)
{
	(void)state;
	kit_start(&kit, three_targets);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_stop(&kit);
	return 0;
}

static const struct kit_sent *ask(
	struct kit_conn *c, const void *text, uint32_t length, uint32_t ttt, bool more)
{
	struct iscsi_pdu pdu = kit_request(c, ISCSI_TEXT_REQUEST, 77);

	pdu.final = !more;
	pdu.text.more = more;
	pdu.text.ttt = ttt;
	kit_deliver(&kit, c, &pdu, text, length);
	return kit_next(c);
}

/* The answer in one piece is exactly that text. */
static void answers(struct kit_conn *c, const char *question, const char *text, size_t length)
{
	const struct kit_sent *s =
		ask(c, question, (uint32_t)strlen(question) + 1, ISCSI_TAG_NONE, false);

	assert_non_null(s);
	assert_int_equal(s->pdu.opcode, ISCSI_TEXT_RESPONSE);
	assert_int_equal(s->pdu.itt, 77);
	assert_true(s->pdu.final);
	assert_false(s->pdu.text.more);
	assert_int_equal(s->pdu.text.ttt, ISCSI_TAG_NONE);
	assert_int_equal(s->pdu.data_length, length);
	assert_memory_equal(s->data, text, length);
}

#define ANSWERS(c, question, text) answers(c, question, text, sizeof(text) - 1)

static void discovery_lists_the_targets_that_the_initiator_may_see(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	ANSWERS(&c, "SendTargets=All",
		"TargetName=" KIT_TARGET "\0TargetAddress=192.0.2.1:3260,1\0"
		"TargetName=iqn.2026-01.org.example:other\0TargetAddress=192.0.2.1:3260,1\0");
	ANSWERS(&c, "SendTargets=iqn.2026-01.org.example:other",
		"TargetName=iqn.2026-01.org.example:other\0TargetAddress=192.0.2.1:3260,1\0");
	ANSWERS(&c, "SendTargets=iqn.2026-01.org.example:secret", "");
	assert_int_equal(
		ask(&c, "SendTargets=All\0SendTargets=All", 32, ISCSI_TAG_NONE, false)->pdu.opcode,
		ISCSI_REJECT);
	kit_lose(&kit, &c);
}

static void bound_portals_are_named_but_no_wildcard(void **state)
{
	struct kit_conn c;

	(void)state;
	kit.set->portals = alloc_array(3, ADDRESS_TEXT_SIZE);
	kit.set->portal_count = 3;
	snprintf(kit.set->portals[0], ADDRESS_TEXT_SIZE, "[::]:3260");
	snprintf(kit.set->portals[1], ADDRESS_TEXT_SIZE, "192.0.2.1:3260");
	snprintf(kit.set->portals[2], ADDRESS_TEXT_SIZE, "[2001:db8::1]:3260");
	assert_true(kit_login(&kit, &c, NULL, 1));
	ANSWERS(&c, "SendTargets=" KIT_TARGET,
		"TargetName=" KIT_TARGET "\0TargetAddress=192.0.2.1:3260,1\0"
		"TargetAddress=[2001:db8::1]:3260,1\0");
	kit_lose(&kit, &c);
}

static void a_normal_session_sees_its_own_target_alone(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	ANSWERS(&c, "SendTargets=", "TargetName=" KIT_TARGET "\0TargetAddress=192.0.2.1:3260,1\0");
	ANSWERS(&c, "SendTargets=iqn.2026-01.org.example:other", "");
	ANSWERS(&c, "SendTargets=All", "SendTargets=Reject\0");
	kit_lose(&kit, &c);
}

static void an_unknown_key_is_not_understood(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	ANSWERS(&c, "X-org.example.key=1", "X-org.example.key=NotUnderstood\0");
	kit_lose(&kit, &c);
}

static void a_question_in_pieces_is_put_together(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	s = ask(&c, "SendTarg", 8, ISCSI_TAG_NONE, true);
	assert_int_equal(s->pdu.opcode, ISCSI_TEXT_RESPONSE);
	assert_false(s->pdu.final);
	assert_int_equal(s->pdu.data_length, 0);
	assert_int_not_equal(s->pdu.text.ttt, ISCSI_TAG_NONE);
	s = ask(&c, "ets=All", 8, s->pdu.text.ttt, false);
	assert_true(s->pdu.final);
	assert_memory_equal(s->data, "TargetName=" KIT_TARGET, sizeof("TargetName=" KIT_TARGET));
	kit_lose(&kit, &c);
}

/* RFC 7143 section 11.11.1: no final answer to a request that is not final. */
static void an_initiator_that_has_more_to_ask_is_not_told_the_end(void **state)
{
	struct iscsi_pdu pdu;
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	pdu = kit_request(&c, ISCSI_TEXT_REQUEST, 77);
	pdu.final = false;
	pdu.text.ttt = ISCSI_TAG_NONE;
	kit_deliver(&kit, &c, &pdu, "X-a=1", 6);
	s = kit_next(&c);
	assert_false(s->pdu.final || s->pdu.text.more);
	assert_int_not_equal(s->pdu.text.ttt, ISCSI_TAG_NONE);
	assert_memory_equal(s->data, "X-a=NotUnderstood", 18);
	s = ask(&c, "X-b=1", 6, s->pdu.text.ttt, false);
	assert_true(s->pdu.final);
	assert_int_equal(s->pdu.data_length, 18);
	assert_memory_equal(s->data, "X-b=NotUnderstood", 18);
	kit_lose(&kit, &c);
}

static void a_question_without_end_is_refused(void **state)
{
	static char much[8000];
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	s = ask(&c, much, sizeof(much), ISCSI_TAG_NONE, true);
	s = ask(&c, much, sizeof(much), s->pdu.text.ttt, true);
	assert_int_equal(s->pdu.opcode, ISCSI_REJECT);
	assert_int_equal(s->pdu.reject.reason, ISCSI_REJECT_PROTOCOL_ERROR);
	kit_lose(&kit, &c);
}

static void text_that_is_no_pair_and_a_wrong_tag_are_refused(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	assert_int_equal(
		ask(&c, "SendTargets", 12, ISCSI_TAG_NONE, false)->pdu.opcode, ISCSI_REJECT);
	assert_int_equal(ask(&c, "SendTargets=All", 16, 4711, false)->pdu.opcode, ISCSI_REJECT);
	ANSWERS(&c, "SendTargets=iqn.2026-01.org.example:secret", "");
	kit_lose(&kit, &c);
}

/* 200 targets of 80 bytes: 16,000 bytes in pieces of 8,192, which is what the initiator takes. */
static void a_long_answer_comes_in_pieces(void **state)
{
	static char text[65536], whole[65536];
	size_t used = 0, length = 0;
	const struct kit_sent *s;
	struct kit k;
	struct kit_conn c;
	unsigned pieces = 1;

	(void)state;
	used += (size_t)snprintf(text, sizeof(text), "targets:\n");
	for (int i = 0; i < 200; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"- name: iqn.2026-01.org.example:t%03d\n", i);
	kit_stop(&kit);
	kit_start(&kit, text);
	k = kit;
	assert_true(kit_login(&k, &c, NULL, 1));
	s = ask(&c, "SendTargets=All", 16, ISCSI_TAG_NONE, false);
	for (;;) {
		assert_true(s->pdu.data_length <= 8192);
		memcpy(whole + length, s->data, s->pdu.data_length);
		length += s->pdu.data_length;
		if (!s->pdu.text.more)
			break;
		assert_false(s->pdu.final);
		assert_int_equal(s->pdu.data_length, 8192);
		s = ask(&c, NULL, 0, s->pdu.text.ttt, false);
		pieces++;
	}
	assert_true(s->pdu.final);
	assert_int_equal(pieces, 2);
	/* TargetName=iqn.2026-01.org.example:t000 and TargetAddress=192.0.2.1:3260,1, each with NUL
	 */
	assert_int_equal(length, 200 * (11 + 28 + 1 + 30 + 1));
	assert_string_equal(whole + length - 71, "TargetName=iqn.2026-01.org.example:t199");
	kit_lose(&k, &c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(discovery_lists_the_targets_that_the_initiator_may_see),
		TEST(bound_portals_are_named_but_no_wildcard),
		TEST(a_normal_session_sees_its_own_target_alone),
		TEST(an_unknown_key_is_not_understood),
		TEST(a_question_in_pieces_is_put_together),
		TEST(an_initiator_that_has_more_to_ask_is_not_told_the_end),
		TEST(a_question_without_end_is_refused),
		TEST(text_that_is_no_pair_and_a_wrong_tag_are_refused),
		TEST(a_long_answer_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
