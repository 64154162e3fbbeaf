/* A session's configuration from a record. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/login.h"
#include "initiator/session.h"
#include "initiator/settings.h"

static struct node_record record_of_defaults(void)
{
	struct node_record r;

	node_record_default(&r, NODE_TRANSPORT_ISER);
	return r;
}

static void a_record_becomes_a_sessions_configuration(void **state)
{
	struct node_record r = record_of_defaults();
	struct ini_session_config c;

	(void)state;
	strcpy(r.target_name, "iqn.2026-11.org.example:disk");
	r.replacement_timeout = -1;
	r.header_digest = NODE_DIGEST_CRC32C_NONE;
	r.data_digest = NODE_DIGEST_NONE_CRC32C;
	assert_int_equal(ini_session_config_from_record(&r, &c), 0);
	assert_ptr_equal(c.target_name, r.target_name);
	assert_null(c.initiator_name);
	assert_true(c.replacement_timeout_ns == INI_FOREVER);
	assert_int_equal(c.header_digest, ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE);
	assert_int_equal(
		c.data_digest, ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE | ISCSI_DIGEST_NONE_FIRST);
	assert_int_equal(c.noop_interval_ns, 5000000000ull);
	assert_int_equal(c.offer.max_burst_length, 16776192);
	assert_false(c.auth.chap_required);
	assert_null(c.auth.name);
	r.authmethod = NODE_AUTH_CHAP;
	strcpy(r.username, "u");
	strcpy(r.password, "p");
	assert_int_equal(ini_session_config_from_record(&r, &c), 0);
	assert_true(c.auth.chap_required);
	assert_string_equal(c.auth.secret, "p");
	assert_null(c.auth.mutual_name);
	strcpy(r.chap_algs, "ROT13");
	assert_int_equal(ini_session_config_from_record(&r, &c), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_becomes_a_sessions_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
