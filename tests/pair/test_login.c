/* Logins of the initiator at the target (RFC 7143 sections 6 and 12), and discovery. */
#include <errno.h>
#include <string.h>

#include "tests/kit/stories.h"

static const struct login_auth chap = {
	.chap_required = true,
	.name = TWO_ENDS_NAME,
	.secret = TWO_ENDS_SECRET,
};

static void expect_login(const struct two_ends_config *config, const char *target,
	const struct login_auth *auth, unsigned login_status, int error)
{
	struct two_ends *e = two_ends_new(config);
	struct ini_session_config c = two_session_config(e, target);
	struct two_session s;

	c.auth = *auth;
	c.login_attempts = 1;
	two_session_login(&s, e, &c);
	assert_int_equal(s.login_status, login_status);
	assert_int_equal(s.error, error);
	assert_int_equal(s.logged_in, error == 0);
	two_session_end(&s);
	two_ends_free(e);
}

static void without_authentication(const struct two_ends_config *config)
{
	const struct login_auth none = {0};

	expect_login(config, TWO_ENDS_IQN, &none, LOGIN_SUCCESS, 0);
}

static void chap_with_every_digest(const struct two_ends_config *config)
{
	static const uint8_t algorithms[] = {CHAP_MD5, CHAP_SHA1, CHAP_SHA256, CHAP_SHA3_256};
	struct login_auth auth = chap;

	for (size_t i = 0; i < sizeof(algorithms); i++) {
		auth.algorithms[0] = algorithms[i];
		expect_login(config, TWO_ENDS_CHAP_IQN, &auth, LOGIN_SUCCESS, 0);
	}
}

static void mutual_chap(const struct two_ends_config *config)
{
	struct login_auth auth = chap;

	auth.mutual_name = TWO_ENDS_MUTUAL_NAME;
	auth.mutual_secret = TWO_ENDS_MUTUAL_SECRET;
	expect_login(config, TWO_ENDS_CHAP_IQN, &auth, LOGIN_SUCCESS, 0);
}

static void chap_with_the_wrong_secret(const struct two_ends_config *config)
{
	struct login_auth auth = chap;

	auth.secret = "not the secret at all";
	expect_login(config, TWO_ENDS_CHAP_IQN, &auth, LOGIN_AUTHENTICATION_FAILURE, -EACCES);
}

static void chap_missing_where_it_is_required(const struct two_ends_config *config)
{
	const struct login_auth none = {0};

	expect_login(config, TWO_ENDS_CHAP_IQN, &none, LOGIN_AUTHENTICATION_FAILURE, -EACCES);
}

/* The initiator finds out: the target's answer is wrong. */
static void target_that_cannot_prove_itself(const struct two_ends_config *config)
{
	struct two_ends *e = two_ends_new(config);
	struct ini_session_config c = two_session_config(e, TWO_ENDS_CHAP_IQN);
	struct two_session s;

	c.auth = chap;
	c.auth.mutual_name = TWO_ENDS_MUTUAL_NAME;
	c.auth.mutual_secret = "not carol's secret at all";
	c.login_attempts = 1;
	two_session_login(&s, e, &c);
	assert_int_equal(s.logged_in, 0);
	assert_int_equal(s.error, -EACCES);
	two_session_end(&s);
	two_ends_free(e);
}

static void unknown_target(const struct two_ends_config *config)
{
	const struct login_auth none = {0};

	expect_login(config, "iqn.2026-11.org.iseran:nobody", &none, LOGIN_NOT_FOUND, -ENOENT);
}

static void refused_connection(const struct two_ends_config *config)
{
	struct two_ends *e = two_ends_new(config);
	struct ini_session_config c = two_session_config(e, TWO_ENDS_IQN);
	struct two_session s;

	c.login_attempts = 1;
	two_ends_refuse(e, true);
	two_session_login(&s, e, &c);
	assert_int_equal(s.logged_in, 0);
	assert_int_equal(s.error, -ECONNREFUSED);
	two_session_end(&s);
	two_ends_free(e);
}

static void second_login_of_the_same_session_takes_its_place(const struct two_ends_config *config)
{
	struct two_ends *e = two_ends_new(config);
	struct ini_session_config c = two_session_config(e, TWO_ENDS_IQN);
	struct two_session first, second;
	struct two_task t;

	c.replacement_timeout_ns = 1;
	two_session_login(&first, e, &c);
	two_session_login(&second, e, &c);
	two_task_ready(&t, 0);
	two_task_run(&second, &t);
	assert_int_equal(second.logged_in, 1);
	ini_session_close(first.session);
	two_session_end(&first);
	two_session_end(&second);
	two_ends_free(e);
}

/* ---- discovery ---- */

struct found {
	unsigned done;
	int error;
	size_t count;
	bool pair, chap;
};

static void discovery_done(void *owner, const struct discovery_result *result)
{
	struct found *f = owner;

	f->done++;
	f->error = result->error;
	f->count = result->count;
	for (size_t i = 0; i < result->count; i++) {
		f->pair |= !strcmp(result->entries[i].target_name, TWO_ENDS_IQN);
		f->chap |= !strcmp(result->entries[i].target_name, TWO_ENDS_CHAP_IQN);
	}
}

static bool is_found(void *arg)
{
	return ((struct found *)arg)->done > 0;
}

static void discovery_finds_both_targets(const struct two_ends_config *config)
{
	struct two_ends *e = two_ends_new(config);
	struct discovery_config c = {
		.loop = two_ends_loop(e),
		.mover = two_ends_initiator_mover(e),
		.initiator_name = TWO_ENDS_INITIATOR,
	};
	struct discovery *d;
	struct found f = {0};
	const char *why;

	assert_int_equal(address_parse("127.0.0.1", ADDRESS_DEFAULT_PORT, &c.portal, &why), 0);
	assert_int_equal(discovery_start(&c, discovery_done, &f, &d), 0);
	two_ends_until(e, is_found, &f);
	assert_int_equal(f.error, 0);
	assert_true(f.pair);
	assert_true(f.chap);
	two_ends_free(e);
}

/* Every cut of the byte stream within a login. */
static void login_in_single_bytes(const struct two_ends_config *config)
{
	struct two_ends_config bytes = *config;

	bytes.chunking = PIPE_BYTES;
	mutual_chap(&bytes);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(without_authentication),
		STORY(chap_with_every_digest),
		STORY(mutual_chap),
		STORY(chap_with_the_wrong_secret),
		STORY(chap_missing_where_it_is_required),
		STORY(target_that_cannot_prove_itself),
		STORY(unknown_target),
		STORY(refused_connection),
		STORY(second_login_of_the_same_session_takes_its_place),
		STORY(discovery_finds_both_targets),
		STORY(login_in_single_bytes),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}
