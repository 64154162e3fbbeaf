/* Every setting of a node record and of a discovery record, one row each: name and default as
 * open-iscsi has them, range by RFC 7143 section 13 and by what this initiator does. And what is
 * said of records as a whole. Used by records.c and iserd. */
#include "initiator/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/bytes.h"

static const char *const startups[] = {"manual", "automatic", "onboot", NULL};
static const char *const transports[] = {"tcp", "iser", NULL};
static const char *const providers[] = {"auto", "verbs", "softiwarp", NULL};
static const char *const authmethods[] = {"None", "CHAP", NULL};
static const char *const digests[] = {"None", "CRC32C", "CRC32C,None", "None,CRC32C", NULL};

#define WHERE(record, field)                                                                       \
	.offset = offsetof(struct record, field), .size = sizeof(((struct record *)0)->field)
#define ROW(row_name, row_kind, field, ...)                                                        \
	{                                                                                          \
		.name = row_name, .kind = SETTING_##row_kind, WHERE(RECORD, field), __VA_ARGS__    \
	}
#define TEXT(name, field) ROW(name, TEXT, field, .initial = "")
#define SECRET(name, field) ROW(name, TEXT, field, .initial = "", .secret = true)
#define NUMBER(name, field, low, high, text)                                                       \
	ROW(name, UINT, field, .min = low, .max = high, .initial = text)
#define BOOL(name, field, text) ROW(name, BOOL, field, .initial = text)
#define CHOICE(name, field, list, text) ROW(name, CHOICE, field, .words = list, .initial = text)

#define DAY 86400	    /* seconds; no time-out needs more */
#define LENGTH_MAX 16777215 /* RFC 7143 sections 13.12 to 13.14: 512 to 2^24 - 1 */

/* In order of preference. SHA256 comes last because tgt takes its number (7) for SHA1: offered
 * before MD5 it would be chosen there, and no secret would be right. */
#define CHAP_ALGORITHMS "SHA3-256,SHA1,MD5,SHA256"

#define RECORD node_record
static const struct setting node_rows[] = {
	ROW("node.name", ISCSI_NAME, target_name, .initial = "", .key = true),
	ROW("node.tpgt", UINT, tpgt, .min = 0, .max = 65535, .initial = "1", .key = true),
	CHOICE("node.startup", startup, startups, "manual"),
	BOOL("node.leading_login", leading_login, "No"),
	ROW("iface.iscsi_ifacename", WORD, iface, .initial = "default", .key = true),
	ROW("iface.transport_name", CHOICE, transport, .words = transports, .initial = "tcp",
		.key = true),
	CHOICE("iface.rdma_provider", provider, providers, "auto"),
	ROW("iface.initiatorname", ISCSI_NAME, initiator_name, .initial = ""),
	ROW("node.discovery_address", WORD, discovery_address, .initial = ""),
	NUMBER("node.discovery_port", discovery_port, 0, 65535, "0"),
	ROW("node.discovery_type", WORD, discovery_type, .initial = "static"),
	NUMBER("node.session.initial_login_retry_max", initial_login_retry_max, 1, 1000, "8"),
	NUMBER("node.session.nr_sessions", nr_sessions, 1, 32, "1"),
	/* CmdSN's window and the tags bound it; open-iscsi's limit is 2048 */
	NUMBER("node.session.cmds_max", cmds_max, 2, 2048, "128"),
	NUMBER("node.session.queue_depth", queue_depth, 1, 1024, "32"),
	CHOICE("node.session.auth.authmethod", authmethod, authmethods, "None"),
	TEXT("node.session.auth.username", username),
	SECRET("node.session.auth.password", password),
	TEXT("node.session.auth.username_in", username_in),
	SECRET("node.session.auth.password_in", password_in),
	ROW("node.session.auth.chap_algs", ALGORITHMS, chap_algs, .initial = CHAP_ALGORITHMS),
	ROW("node.session.timeo.replacement_timeout", INT, replacement_timeout, .min = -1,
		.max = DAY, .initial = "120"),
	NUMBER("node.session.err_timeo.abort_timeout", abort_timeout, 1, DAY, "15"),
	NUMBER("node.session.err_timeo.lu_reset_timeout", lu_reset_timeout, 1, DAY, "30"),
	NUMBER("node.session.err_timeo.tgt_reset_timeout", tgt_reset_timeout, 1, DAY, "30"),
	BOOL("node.session.iscsi.InitialR2T", initial_r2t, "No"),
	BOOL("node.session.iscsi.ImmediateData", immediate_data, "Yes"),
	NUMBER("node.session.iscsi.FirstBurstLength", first_burst_length, 512, LENGTH_MAX,
		"262144"),
	NUMBER("node.session.iscsi.MaxBurstLength", max_burst_length, 512, LENGTH_MAX, "16776192"),
	NUMBER("node.session.iscsi.DefaultTime2Retain", default_time2retain, 0, 3600, "0"),
	/* 0, so that a lost connection is made again at once where the target allows it; a target
	 * that wants a wait (2 is the RFC's default) gets it, the greater value being agreed */
	NUMBER("node.session.iscsi.DefaultTime2Wait", default_time2wait, 0, 3600, "0"),
	/* one connection per session and error recovery level 0: several sessions (nr_sessions) do
	 * what several connections would */
	NUMBER("node.session.iscsi.MaxConnections", max_connections, 1, 1, "1"),
	NUMBER("node.session.iscsi.MaxOutstandingR2T", max_outstanding_r2t, 1, 65535, "1"),
	NUMBER("node.session.iscsi.ERL", error_recovery_level, 0, 0, "0"),
	ROW("node.conn[0].address", WORD, address, .initial = "", .key = true),
	ROW("node.conn[0].port", UINT, port, .min = 1, .max = 65535, .initial = "3260",
		.key = true),
	NUMBER("node.conn[0].timeo.login_timeout", login_timeout, 1, DAY, "15"),
	NUMBER("node.conn[0].timeo.logout_timeout", logout_timeout, 1, DAY, "15"),
	NUMBER("node.conn[0].timeo.noop_out_interval", noop_out_interval, 0, DAY, "5"),
	NUMBER("node.conn[0].timeo.noop_out_timeout", noop_out_timeout, 0, DAY, "5"),
	NUMBER("node.conn[0].iscsi.MaxRecvDataSegmentLength", max_recv_data_segment_length, 512,
		LENGTH_MAX, "262144"),
	CHOICE("node.conn[0].iscsi.HeaderDigest", header_digest, digests, "None"),
	CHOICE("node.conn[0].iscsi.DataDigest", data_digest, digests, "None"),
};
#undef RECORD

#define RECORD discovery_record
static const struct setting discovery_rows[] = {
	ROW("discovery.sendtargets.address", WORD, address, .initial = "", .key = true),
	ROW("discovery.sendtargets.port", UINT, port, .min = 1, .max = 65535, .initial = "3260",
		.key = true),
	CHOICE("iface.transport_name", transport, transports, "tcp"),
	CHOICE("iface.rdma_provider", provider, providers, "auto"),
	CHOICE("discovery.sendtargets.auth.authmethod", authmethod, authmethods, "None"),
	TEXT("discovery.sendtargets.auth.username", username),
	SECRET("discovery.sendtargets.auth.password", password),
	TEXT("discovery.sendtargets.auth.username_in", username_in),
	SECRET("discovery.sendtargets.auth.password_in", password_in),
	ROW("discovery.sendtargets.auth.chap_algs", ALGORITHMS, chap_algs,
		.initial = CHAP_ALGORITHMS),
	NUMBER("discovery.sendtargets.timeo.login_timeout", login_timeout, 1, DAY, "15"),
	NUMBER("discovery.sendtargets.reopen_max", reopen_max, 0, 1000, "5"),
};
#undef RECORD

/* What open-iscsi writes about its kernel driver, its network interfaces and its boot scripts. */
static const char *const node_passed_over[] = {
	"iface.*",
	"node.boot_lun",
	"node.conn[0].startup",
	"node.conn[0].tcp.*",
	"node.conn[0].timeo.auth_timeout",
	"node.conn[0].timeo.active_timeout",
	"node.conn[0].iscsi.MaxXmitDataSegmentLength",
	"node.conn[0].iscsi.IFMarker",
	"node.conn[0].iscsi.OFMarker",
	"node.session.initial_cmdsn",
	"node.session.xmit_thread_priority",
	"node.session.scan",
	"node.session.reopen_max",
	"node.session.err_timeo.host_reset_timeout",
	"node.session.iscsi.FastAbort",
	NULL,
};

static const char *const discovery_passed_over[] = {
	"iface.*",
	"discovery.startup",
	"discovery.type",
	"discovery.sendtargets.use_discoveryd",
	"discovery.sendtargets.discoveryd_poll_inval",
	"discovery.sendtargets.timeo.*",
	"discovery.sendtargets.iscsi.*",
	NULL,
};

/* records_file.c keeps one bit per row */
_Static_assert(ARRAY_SIZE(node_rows) <= 64, "more settings than bits");

const struct settings_table node_settings = {
	.rows = node_rows,
	.count = ARRAY_SIZE(node_rows),
	.title = "node record",
	.passed_over = node_passed_over,
};

const struct settings_table discovery_settings = {
	.rows = discovery_rows,
	.count = ARRAY_SIZE(discovery_rows),
	.title = "discovery record",
	.passed_over = discovery_passed_over,
};

/* ---- transports ---- */

const char *node_transport_iface(enum node_transport transport)
{
	return transport == NODE_TRANSPORT_ISER ? "iser" : "default";
}

const char *node_transport_name(enum node_transport transport)
{
	return transports[transport];
}

static int word_parse(const char *const *words, const char *word, unsigned *ret)
{
	for (unsigned i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

int node_transport_parse(const char *word, enum node_transport *ret)
{
	return word_parse(transports, word, ret);
}

int node_provider_parse(const char *word, enum node_provider *ret)
{
	return word_parse(providers, word, ret);
}

/* ---- records ---- */

void node_record_default(struct node_record *r, enum node_transport transport)
{
	memset(r, 0, sizeof(*r));
	settings_default(&node_settings, r);
	r->transport = transport;
	snprintf(r->iface, sizeof(r->iface), "%s", node_transport_iface(transport));
}

void discovery_record_default(struct discovery_record *r, enum node_transport transport)
{
	memset(r, 0, sizeof(*r));
	settings_default(&discovery_settings, r);
	r->transport = transport;
}

int node_record_set(
	struct node_record *r, const char *name, const char *value, char why[RECORDS_WHY_SIZE])
{
	return settings_set(&node_settings, r, name, value, why);
}

int discovery_record_set(
	struct discovery_record *r, const char *name, const char *value, char why[RECORDS_WHY_SIZE])
{
	return settings_set(&discovery_settings, r, name, value, why);
}

bool node_setting_is_key(const char *name)
{
	const struct setting *row = settings_find(&node_settings, name);

	return row && row->key;
}

bool discovery_setting_is_key(const char *name)
{
	const struct setting *row = settings_find(&discovery_settings, name);

	return row && row->key;
}

/* As people are shown it: secrets covered, an unset text named. */
static void shown_value(const struct setting *row, const void *record, bool show_secrets,
	char out[SETTING_VALUE_SIZE])
{
	setting_get(row, record, out);
	if (!*out)
		snprintf(out, SETTING_VALUE_SIZE, "<empty>");
	else if (row->secret && !show_secrets)
		snprintf(out, SETTING_VALUE_SIZE, "********");
}

int node_record_get(
	const struct node_record *r, const char *name, bool show_secrets, char *out, size_t size)
{
	const struct setting *row = settings_find(&node_settings, name);
	char value[SETTING_VALUE_SIZE];

	if (!row)
		return -ENOENT;
	shown_value(row, r, show_secrets, value);
	if (strlen(value) >= size)
		return -ENOSPC;
	snprintf(out, size, "%s", value);
	return 0;
}

static void settings_each(const struct settings_table *t, const void *record, bool show_secrets,
	void (*each)(void *arg, const char *name, const char *value), void *arg)
{
	char value[SETTING_VALUE_SIZE];

	for (size_t i = 0; i < t->count; i++) {
		shown_value(&t->rows[i], record, show_secrets, value);
		each(arg, t->rows[i].name, value);
	}
}

void node_record_each(const struct node_record *r, bool show_secrets,
	void (*each)(void *arg, const char *name, const char *value), void *arg)
{
	settings_each(&node_settings, r, show_secrets, each, arg);
}

void discovery_record_each(const struct discovery_record *r, bool show_secrets,
	void (*each)(void *arg, const char *name, const char *value), void *arg)
{
	settings_each(&discovery_settings, r, show_secrets, each, arg);
}

/* What must hold between settings, one row per rule. */
static const char *broken_rule(const struct node_record *r)
{
	if (!*r->target_name)
		return "node.name is not set; the target's iSCSI name would be right";
	if (!*r->address)
		return "node.conn[0].address is not set; the portal's address would be right";
	if (r->first_burst_length > r->max_burst_length)
		return "node.session.iscsi.FirstBurstLength is above MaxBurstLength; at most that "
		       "would be right";
	if (r->authmethod == NODE_AUTH_CHAP && (!*r->username || !*r->password))
		return "node.session.auth.authmethod is CHAP, but username or password is not set";
	if (!*r->username_in != !*r->password_in)
		return "node.session.auth.username_in and password_in go together; one is not set";
	if (*r->password_in && strcmp(r->password, r->password_in) == 0)
		return "node.session.auth.password_in is the same as password; another secret "
		       "would "
		       "be right (RFC 7143 section 9.2.1)";
	return NULL;
}

int node_record_check(const struct node_record *r, char why[RECORDS_WHY_SIZE])
{
	const char *rule = broken_rule(r);

	if (rule)
		records_say(why, "%s", rule);
	return rule ? -EINVAL : 0;
}
