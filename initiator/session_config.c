/* What a session is made of: copying a configuration, making one from a record, and showing what
 * became of it. Called by session.c and iserd. */
#include "initiator/session_private.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "initiator/settings.h"

/* The strings of a configuration, all of which the session owns. */
#define CONFIG_STRINGS 7

static void config_strings(struct ini_session_config *c, const char **out[CONFIG_STRINGS])
{
	const char **all[CONFIG_STRINGS] = {&c->initiator_name, &c->initiator_alias,
		&c->target_name, &c->auth.name, &c->auth.secret, &c->auth.mutual_name,
		&c->auth.mutual_secret};

	memcpy(out, all, sizeof(all));
}

int session_config_copy(const struct ini_session_config *from, struct ini_session_config *ret)
{
	const char **strings[CONFIG_STRINGS];
	bool failed = false;

	*ret = *from;
	config_strings(ret, strings);
	for (size_t i = 0; i < CONFIG_STRINGS; i++) {
		const char *original = *strings[i];

		*strings[i] = failed ? NULL : alloc_string(original);
		failed |= original && !*strings[i];
	}
	return failed ? -ENOMEM : 0;
}

void session_config_free(struct ini_session_config *c)
{
	const char **strings[CONFIG_STRINGS];

	config_strings(c, strings);
	for (size_t i = 0; i < CONFIG_STRINGS; i++) {
		char *string = (char *)*strings[i];

		if (string)
			explicit_bzero(string, strlen(string)); /* some are secrets */
		alloc_free(string);
	}
}

/* ---- from a record ---- */

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

int ini_auth_from_settings(unsigned authmethod, const char *username, const char *password,
	const char *username_in, const char *password_in, const char *chap_algs,
	struct login_auth *ret)
{
	struct login_auth auth = {.chap_required = authmethod == NODE_AUTH_CHAP};

	if (settings_parse_algorithms(chap_algs, auth.algorithms) < 0)
		return -EINVAL;
	if (auth.chap_required) {
		auth.name = text_or_null(username);
		auth.secret = text_or_null(password);
		auth.mutual_name = text_or_null(username_in);
		auth.mutual_secret = text_or_null(password_in);
	}
	*ret = auth;
	return 0;
}

static const unsigned digest_sets[] = {
	[NODE_DIGEST_NONE] = ISCSI_DIGEST_NONE,
	[NODE_DIGEST_CRC32C] = ISCSI_DIGEST_CRC32C,
	[NODE_DIGEST_CRC32C_NONE] = ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE,
	[NODE_DIGEST_NONE_CRC32C] =
		ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE | ISCSI_DIGEST_NONE_FIRST,
};

static void offer_from_record(const struct node_record *r, struct iscsi_params *p)
{
	iscsi_params_default(p);
	p->max_connections = r->max_connections;
	p->initial_r2t = r->initial_r2t;
	p->immediate_data = r->immediate_data;
	p->first_burst_length = r->first_burst_length;
	p->max_burst_length = r->max_burst_length;
	p->default_time2wait = r->default_time2wait;
	p->default_time2retain = r->default_time2retain;
	p->max_outstanding_r2t = r->max_outstanding_r2t;
	p->error_recovery_level = r->error_recovery_level;
}

static void times_from_record(const struct node_record *r, struct ini_session_config *c)
{
	c->login_timeout_ns = r->login_timeout * LOOP_NS_PER_S;
	c->logout_timeout_ns = r->logout_timeout * LOOP_NS_PER_S;
	c->noop_interval_ns = r->noop_out_interval * LOOP_NS_PER_S;
	c->noop_timeout_ns = r->noop_out_timeout * LOOP_NS_PER_S;
	c->abort_timeout_ns = r->abort_timeout * LOOP_NS_PER_S;
	c->lu_reset_timeout_ns = r->lu_reset_timeout * LOOP_NS_PER_S;
	c->replacement_timeout_ns = r->replacement_timeout < 0
					    ? INI_FOREVER
					    : (uint64_t)r->replacement_timeout * LOOP_NS_PER_S;
}

int ini_session_config_from_record(const struct node_record *r, struct ini_session_config *ret)
{
	struct ini_session_config c = {
		.initiator_name = text_or_null(r->initiator_name),
		.target_name = r->target_name,
		.cmds_max = r->cmds_max,
		.queue_depth = r->queue_depth,
		.login_attempts = r->initial_login_retry_max,
		.header_digest = digest_sets[r->header_digest],
		.data_digest = digest_sets[r->data_digest],
		.max_recv_data_segment_length = r->max_recv_data_segment_length,
	};

	if (ini_auth_from_settings(r->authmethod, r->username, r->password, r->username_in,
		    r->password_in, r->chap_algs, &c.auth) < 0)
		return -EINVAL;
	offer_from_record(r, &c.offer);
	times_from_record(r, &c);
	*ret = c;
	return 0;
}

/* ---- showing ---- */

struct loop *ini_session_loop(const struct ini_session *s)
{
	return s->config.loop;
}

const struct ini_session_config *ini_session_config(const struct ini_session *s)
{
	return &s->config;
}

static uint32_t list_count(const struct list *l)
{
	uint32_t n = 0;

	for (const struct list *at = l->next; at != l; at = at->next)
		n++;
	return n;
}

static void info_tasks(const struct ini_session *s, struct ini_session_info *ret)
{
	uint32_t left = list_count(&s->waiting) + list_count(&s->urgent) + list_count(&s->delayed);
	bool held = s->state != INI_SESSION_LOGGED_IN || s->checks_pending;

	ret->tasks_on_wire = s->on_wire_count;
	ret->tasks_held = held ? left : 0;
	ret->tasks_queued = held ? 0 : left;
	ret->tasks_done = s->tasks_done;
	ret->tasks_failed = s->tasks_failed;
	ret->tasks_repeated = s->tasks_repeated;
}

void ini_session_get_info(const struct ini_session *s, struct ini_session_info *ret)
{
	*ret = (struct ini_session_info){
		.state = s->state,
		.target_name = s->config.target_name,
		.initiator_name = s->config.initiator_name,
		.isid = s->config.isid,
		.tsih = s->tsih,
		.params = s->params,
		.connected = s->conn && ini_conn_usable(s->conn),
		.aborts = s->aborts,
		.resets = s->resets,
		.logins = s->logins,
		.connected_since_ns = s->connected_since_ns,
		.lost_since_ns = s->lost_since_ns,
		.cmd_sn = s->window.cmd_sn,
		.exp_cmd_sn = s->window.exp_cmd_sn,
		.max_cmd_sn = s->window.max_cmd_sn,
		.exp_stat_sn = s->conn ? s->conn->sequence.exp_stat_sn : 0,
	};
	address_print(&s->portal, ret->portal);
	memcpy(ret->last_error, s->why, sizeof(ret->last_error));
	info_tasks(s, ret);
	if (ret->connected) /* only with a connection */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): see above */
		dm_conn_get_info(s->conn->dm, &ret->conn);
}

int ini_session_register(
	struct ini_session *s, void *address, size_t length, struct dm_region **ret)
{
	return dm_register_region(s->config.mover, address, length, ret);
}

void ini_session_unregister(struct ini_session *s, struct dm_region *r)
{
	dm_unregister_region(s->config.mover, r);
}
