/* What the tests of both login machines share: a policy of one target, and a way to write login
 * text and PDUs by hand. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/login.h"
#include "common/iscsi/login_internal.h"

#define INITIATOR "iqn.1994-05.com.redhat:host1"
#define TARGET "iqn.2026-01.org.example:disk1"
#define SECRET "twelve bytes+"
#define OTHER_SECRET "other thirteen"

struct policy {
	struct login_auth auth;
	unsigned refuse_identify, refuse_establish;
	unsigned identified, established;
	struct login_identity who;
};

static inline unsigned policy_identify(void *owner, const struct login_identity *who,
	struct login_auth *ret_auth, struct iscsi_params *params)
{
	struct policy *p = owner;

	(void)params;
	p->identified++;
	p->who = *who;
	*ret_auth = p->auth;
	return p->refuse_identify;
}

static inline unsigned policy_establish(
	void *owner, const struct login_identity *who, uint16_t *ret_tsih)
{
	struct policy *p = owner;

	(void)who;
	p->established++;
	if (!p->refuse_establish)
		*ret_tsih = 0x1234;
	return p->refuse_establish;
}

static inline struct login_target_config target_config(struct policy *p)
{
	struct login_target_config c = {
		.policy = {policy_identify, policy_establish, p, NULL},
	};

	iscsi_params_default(&c.offer);
	return c;
}

static inline struct login_initiator_config initiator_config(void)
{
	struct login_initiator_config c = {
		.initiator_name = INITIATOR,
		.target_name = TARGET,
		.isid = {{0x00, 0x02, 0x3d, 1, 2, 3}},
		.cid = 7,
		.cmd_sn = 100,
	};

	iscsi_params_default(&c.offer);
	return c;
}

/* The row of key=value strings of a PDU must hold this one. */
static inline bool has(const struct login *l, const char *pair)
{
	const void *data;
	const struct iscsi_pdu *pdu = login_out(l, &data);
	const char *at = data, *end = at + pdu->data_length;

	for (; at < end; at += strlen(at) + 1)
		if (!strcmp(at, pair))
			return true;
	return false;
}

static inline bool has_key(const struct login *l, const char *key)
{
	const void *data;
	const struct iscsi_pdu *pdu = login_out(l, &data);
	const char *at = data, *end = at + pdu->data_length;

	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, key, strlen(key)) && at[strlen(key)] == '=')
			return true;
	return false;
}

/* Gives what `from` has to send to `to`, in memory of its exact size so that a read behind it
 * shows. */
static inline enum login_step deliver(const struct login *from, struct login *to)
{
	const void *data;
	const struct iscsi_pdu *pdu = login_out(from, &data);
	uint8_t *copy = test_malloc(pdu->data_length + 1);
	enum login_step step;

	memcpy(copy, data, pdu->data_length);
	step = to->keys.initiator ? login_initiator_receive(to, pdu, copy, pdu->data_length)
				  : login_target_receive(to, pdu, copy, pdu->data_length);
	test_free(copy);
	return step;
}

/* Runs a login to its end, as two conns would. */
static inline enum login_step run(struct login *initiator, struct login *target)
{
	enum login_step step = login_initiator_start(initiator);

	for (int turn = 0; turn < 200; turn++) {
		if (step != LOGIN_SEND && step != LOGIN_SEND_LAST)
			return step;
		deliver(initiator, target);
		step = deliver(target, initiator);
	}
	fail_msg("the login does not end");
	return LOGIN_FAILED;
}

/* ---- requests by hand ---- */

static inline struct iscsi_pdu request_pdu(uint8_t csg, bool transit, uint8_t nsg)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true, .itt = 0x5eed};

	pdu.login.csg = csg;
	pdu.login.nsg = nsg;
	pdu.login.transit = transit;
	pdu.login.isid = (struct iscsi_isid){{0x40, 0, 1, 0x37, 0, 0}};
	pdu.login.cid = 1;
	return pdu;
}

static inline enum login_step give(
	struct login *target, struct iscsi_pdu pdu, const char *text, size_t length)
{
	uint8_t *copy = test_malloc(length + 1);
	enum login_step step;

	memcpy(copy, text, length);
	pdu.data_length = (uint32_t)length;
	step = login_target_receive(target, &pdu, copy, length);
	test_free(copy);
	return step;
}

/* A string literal with NULs between its pairs; its own NUL ends the last. */
#define GIVE(target, pdu, text) give(target, pdu, text, sizeof(text))
#define IDENTIFIED "InitiatorName=" INITIATOR "\0TargetName=" TARGET "\0SessionType=Normal\0"

/* What libiscsi sends in its operational stage, in its order. */
#define LIBISCSI_OPERATIONAL                                                                       \
	"HeaderDigest=None,CRC32C\0DataDigest=None\0InitialR2T=No\0ImmediateData=Yes\0"            \
	"MaxBurstLength=262144\0FirstBurstLength=262144\0DefaultTime2Wait=2\0"                     \
	"DefaultTime2Retain=0\0MaxOutstandingR2T=1\0ErrorRecoveryLevel=0\0IFMarker=No\0"           \
	"OFMarker=No\0MaxConnections=1\0MaxRecvDataSegmentLength=262144\0"                         \
	"DataPDUInOrder=Yes\0DataSequenceInOrder=Yes"

static inline void assert_refused(const struct login *target, enum login_step step, unsigned status)
{
	const void *data;
	const struct iscsi_pdu *pdu = login_out(target, &data);
	const char *why;

	assert_int_equal(step, LOGIN_FAILED);
	assert_int_equal(login_failure(target, &why), status);
	assert_int_not_equal(why[0], 0);
	assert_int_equal(pdu->opcode, ISCSI_LOGIN_RESPONSE);
	assert_int_equal(pdu->login_response.status_class, status >> 8);
	assert_int_equal(pdu->login_response.status_detail, status & 0xff);
	assert_false(pdu->login_response.transit);
	assert_int_equal(pdu->data_length, 0);
}

/* The step first: it may be what makes the login. */
#define REFUSED(target, expression, status)                                                        \
	do {                                                                                       \
		enum login_step step_ = (expression);                                              \
                                                                                                   \
		assert_refused(target, step_, status);                                             \
	} while (0)

/* ---- responses by hand ---- */

static inline struct iscsi_pdu response_pdu(
	const struct login *initiator, uint8_t csg, bool transit, uint8_t nsg)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_RESPONSE, .itt = initiator->itt};

	pdu.login_response.csg = csg;
	pdu.login_response.nsg = nsg;
	pdu.login_response.transit = transit;
	pdu.login_response.isid = initiator->isid;
	pdu.login_response.tsih = nsg == ISCSI_STAGE_FULL_FEATURE ? 0x77 : 0;
	return pdu;
}

static inline enum login_step answer(
	struct login *initiator, struct iscsi_pdu pdu, const char *text, size_t length)
{
	uint8_t *copy = test_malloc(length + 1);
	enum login_step step;

	memcpy(copy, text, length);
	pdu.data_length = (uint32_t)length;
	step = login_initiator_receive(initiator, &pdu, copy, length);
	test_free(copy);
	return step;
}

#define ANSWER(initiator, pdu, text) answer(initiator, pdu, text, sizeof(text))
