/* Who may log in: targets, access lists, CHAP and limits. The two questions that the login machine
 * asks (common/iscsi/login.h); the answers are made under the target set's lock, and the
 * configuration whose secrets they name is held until the login is over. Called by conn.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "target/session_state.h"

static unsigned refuse(struct tgt_conn *c, unsigned status, const char *why)
{
	snprintf(c->refusal, sizeof(c->refusal), "%s", why);
	return status;
}

static const struct {
	const char *name;
	uint8_t algorithm;
} algorithms[] = {
	{"md5", CHAP_MD5},
	{"sha1", CHAP_SHA1},
	{"sha256", CHAP_SHA256},
	{"sha3-256", CHAP_SHA3_256},
};

static uint8_t algorithm_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++)
		if (!strcmp(algorithms[i].name, name))
			return algorithms[i].algorithm;
	return 0;
}

static void fill_auth(const struct config_chap *chap, struct login_auth *auth)
{
	*auth = (struct login_auth){0};
	if (!chap)
		return;
	auth->chap_required = true;
	auth->name = chap->name;
	auth->secret = chap->secret;
	for (size_t i = 0; i < chap->algorithms.count && i < ARRAY_SIZE(auth->algorithms) - 1; i++)
		auth->algorithms[i] =
			algorithm_number(config_item(chap->algorithms, struct config_word, i).word);
	if (chap->mutual) {
		auth->mutual_name = chap->mutual->name;
		auth->mutual_secret = chap->mutual->secret;
	}
}

static unsigned identify_discovery(struct target_set *set, struct login_auth *auth)
{
	const struct config_discovery *d = set->config->discovery;

	fill_auth(d ? d->chap : NULL, auth);
	return LOGIN_SUCCESS;
}

/* Under the set's lock, which keeps row and configuration in place. */
static unsigned admit(struct tgt_conn *c, const struct login_identity *who, struct login_auth *auth)
{
	const struct config_target *row = c->target->row;
	const struct config_initiator *entry;
	bool open;

	if (!row)
		return refuse(c, LOGIN_TARGET_REMOVED, "the target has been removed");
	entry = access_find(row, who->initiator_name, &open);
	if (!entry && !open)
		return refuse(c, LOGIN_AUTHORIZATION_FAILURE,
			"the initiator is not in the target's list (initiators)");
	login_target_set_alias(c->login, row->alias);
	fill_auth(entry && entry->chap ? entry->chap : row->chap, auth);
	return LOGIN_SUCCESS;
}

/* A TSIH other than 0 names a session to go on with. Sessions have one connection and error
 * recovery level 0, so that a connection is reinstated by reinstating the
 * session (section 6.3.4). */
static unsigned check_tsih(struct tgt_conn *c, const struct login_identity *who)
{
	if (!who->tsih)
		return LOGIN_SUCCESS;
	if (!who->discovery &&
		registry_has(&c->mover->worker->targets->registry, who->initiator_name,
			who->target_name, &who->isid, who->tsih))
		return LOGIN_SUCCESS;
	return refuse(c, LOGIN_SESSION_DOES_NOT_EXIST, "there is no session with that TSIH");
}

static unsigned find_target(struct tgt_conn *c, const struct login_identity *who)
{
	struct target_set *set = c->mover->worker->targets;

	c->target = target_set_find(set, who->target_name);
	if (!c->target) {
		snprintf(c->refusal, sizeof(c->refusal), "there is no target %.100s",
			who->target_name);
		return LOGIN_NOT_FOUND;
	}
	return LOGIN_SUCCESS;
}

unsigned login_policy_identify(void *owner, const struct login_identity *who,
	struct login_auth *ret_auth, struct iscsi_params *params)
{
	struct tgt_conn *c = owner;
	struct target_set *set = c->mover->worker->targets;
	unsigned status = check_tsih(c, who);

	(void)params;
	if (atomic_load(&set->draining))
		return refuse(c, LOGIN_SERVICE_UNAVAILABLE, "the target is stopping");
	if (status == LOGIN_SUCCESS && !who->discovery)
		status = find_target(c, who);
	if (status != LOGIN_SUCCESS)
		return status;
	pthread_mutex_lock(&set->lock);
	status = who->discovery ? identify_discovery(set, ret_auth) : admit(c, who, ret_auth);
	c->config = config_hold(set->config);
	pthread_mutex_unlock(&set->lock);
	return status;
}

static unsigned session_refusal(struct tgt_conn *c, int err)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{-EMFILE, "there are as many sessions as may be (max_sessions)"},
		{-EUSERS, "the target has as many sessions as may be (max_target_sessions)"},
		{-ENOMEM, "no memory for a session"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			return refuse(c, LOGIN_OUT_OF_RESOURCES, reasons[i].why);
	return refuse(c, LOGIN_TARGET_ERROR, "the session could not be made");
}

unsigned login_policy_establish(void *owner, const struct login_identity *who, uint16_t *ret_tsih)
{
	struct tgt_conn *c = owner;
	struct target_set *set = c->mover->worker->targets;
	struct registry_limits limits;
	int err;

	pthread_mutex_lock(&set->lock);
	limits.sessions = set->config->max_sessions;
	limits.target_sessions = set->config->max_target_sessions;
	pthread_mutex_unlock(&set->lock);
	err = tgt_session_new(c, who, &limits, &c->session);
	if (err < 0)
		return session_refusal(c, err);
	*ret_tsih = c->session->entry.tsih;
	return LOGIN_SUCCESS;
}
