/* What iseradm is shown of sessions and of the daemon, as JSON. Called by server.c. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "initiator/daemon/sessions.h"

static void put_digest(struct json_object *o, const char *key, unsigned digest)
{
	put_text(o, key, digest & ISCSI_DIGEST_CRC32C ? "CRC32C" : "None");
}

/* The outcome of the login, under the standards' names. */
static struct json_object *show_params(const struct iscsi_params *p)
{
	struct json_object *o = json_object_new_object();

	put_digest(o, "HeaderDigest", p->header_digest);
	put_digest(o, "DataDigest", p->data_digest);
	put_number(o, "MaxRecvDataSegmentLength", p->max_recv_data_segment_length);
	put_number(o, "MaxXmitDataSegmentLength", p->peer_max_recv_data_segment_length);
	put_number(o, "FirstBurstLength", p->first_burst_length);
	put_number(o, "MaxBurstLength", p->max_burst_length);
	put_bool(o, "ImmediateData", p->immediate_data);
	put_bool(o, "InitialR2T", p->initial_r2t);
	put_number(o, "MaxOutstandingR2T", p->max_outstanding_r2t);
	put_number(o, "MaxConnections", p->max_connections);
	put_number(o, "DefaultTime2Wait", p->default_time2wait);
	put_number(o, "DefaultTime2Retain", p->default_time2retain);
	put_number(o, "ErrorRecoveryLevel", p->error_recovery_level);
	put_bool(o, "RDMAExtensions", p->rdma_extensions);
	if (!p->rdma_extensions)
		return o;
	put_number(o, "InitiatorRecvDataSegmentLength", p->initiator_recv_data_segment_length);
	put_number(o, "TargetRecvDataSegmentLength", p->target_recv_data_segment_length);
	put_number(o, "MaxOutstandingUnexpectedPDUs", p->max_outstanding_unexpected_pdus);
	return o;
}

static struct json_object *show_conn(const struct dm_conn_info *c)
{
	struct json_object *o = json_object_new_object();

	put_text(o, "mover", c->mover);
	put_text(o, "provider", c->provider);
	put_text(o, "local", c->local);
	put_text(o, "peer", c->peer);
	put_bool(o, "header_digest", c->header_digest);
	put_bool(o, "data_digest", c->data_digest);
	put_bool(o, "remote_invalidate", c->remote_invalidate);
	put_number(o, "pdus_sent", c->pdus_sent);
	put_number(o, "pdus_received", c->pdus_received);
	put_number(o, "bytes_sent", c->bytes_sent);
	put_number(o, "bytes_received", c->bytes_received);
	put_number(o, "queue_depth", c->queue_depth);
	put_text(o, "detail", c->detail);
	return o;
}

/* ---- LUNs ---- */

static void put_disk_statistics(struct json_object *o, const struct disk_statistics *s)
{
	put_number(o, "reads", s->reads);
	put_number(o, "writes", s->writes);
	put_number(o, "flushes", s->flushes);
	put_number(o, "discards", s->discards);
	put_number(o, "write_zeroes", s->write_zeroes);
	put_number(o, "bytes_read", s->bytes_read);
	put_number(o, "bytes_written", s->bytes_written);
	put_number(o, "errors", s->errors);
	put_number(o, "commands", s->commands);
	put_number(o, "retries", s->retries);
	put_number(o, "in_flight", s->in_flight);
}

/* The words are those of Linux' sysfs. */
static const char *lun_state_name(const struct daemon_lun *l)
{
	struct ini_session_info info;

	if (l->gone)
		return "gone";
	if (l->leaving || l->state == LUN_STOPPING || l->state == LUN_FREEING)
		return "deleting";
	if (l->state == LUN_STARTING)
		return "created";
	ini_session_get_info(l->session->ini, &info);
	if (info.state == INI_SESSION_RECOVERING)
		return "blocked";
	return info.state == INI_SESSION_FAILED ? "transport-offline" : "running";
}

/* The device is read only while no thread of its export changes it. */
static void put_device(struct json_object *o, const struct daemon_lun *l)
{
	const char *runtime = l->session->daemon->config.runtime_directory, *device = NULL;
	char path[PATH_MAX];

	if (l->state == LUN_READY && !l->failed)
		device = l->export->ops->device(l->export);
	put_text(o, "device", device);
	snprintf(path, sizeof(path), "%s/by-path/%s", runtime, l->name);
	put_text(o, "link", device ? path : NULL);
	snprintf(path, sizeof(path), "%s/devices/%s", runtime, l->name);
	put_text(o, "file", device ? path : NULL);
	put_text(o, "why", *l->why ? l->why : NULL);
}

static struct json_object *show_lun(const struct daemon_lun *l)
{
	struct json_object *o = json_object_new_object(), *stats = json_object_new_object();
	const struct disk_info *i = disk_info(l->disk);
	struct disk_statistics s;

	put_number(o, "lun", l->number);
	put_device(o, l);
	put_number(o, "size", i->size);
	put_number(o, "block_size", i->block_size);
	put_number(o, "physical_block_size", i->physical_block_size);
	put_bool(o, "readonly", i->readonly);
	put_bool(o, "write_cache", i->write_cache);
	put_text(o, "wwid", i->wwid);
	put_text(o, "vendor", i->vendor);
	put_text(o, "product", i->product);
	put_text(o, "revision", i->revision);
	put_text(o, "serial", i->serial);
	put_text(o, "state", lun_state_name(l));
	disk_get_statistics(l->disk, &s);
	put_disk_statistics(stats, &s);
	json_object_object_add(o, "stats", stats);
	return o;
}

static struct json_object *show_luns(const struct daemon_session *s)
{
	struct json_object *list = json_object_new_array();
	const struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->state != LUN_FREEING)
			json_object_array_add(list, show_lun(l));
	return list;
}

/* ---- sessions ---- */

static struct json_object *show_statistics(const struct ini_session_info *i)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "tasks_on_wire", i->tasks_on_wire);
	put_number(o, "tasks_queued", i->tasks_queued);
	put_number(o, "tasks_held", i->tasks_held);
	put_number(o, "tasks_done", i->tasks_done);
	put_number(o, "tasks_failed", i->tasks_failed);
	put_number(o, "tasks_repeated", i->tasks_repeated);
	put_number(o, "aborts", i->aborts);
	put_number(o, "resets", i->resets);
	put_number(o, "logins", i->logins);
	put_number(o, "bytes_sent", i->conn.bytes_sent);
	put_number(o, "bytes_received", i->conn.bytes_received);
	put_number(o, "pdus_sent", i->conn.pdus_sent);
	put_number(o, "pdus_received", i->conn.pdus_received);
	put_number(o, "cmd_sn", i->cmd_sn);
	put_number(o, "exp_cmd_sn", i->exp_cmd_sn);
	put_number(o, "max_cmd_sn", i->max_cmd_sn);
	put_number(o, "exp_stat_sn", i->exp_stat_sn);
	return o;
}

static struct json_object *show_timeouts(const struct node_record *r)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "recovery", json_object_new_int(r->replacement_timeout));
	put_number(o, "target_reset", r->tgt_reset_timeout);
	put_number(o, "lun_reset", r->lu_reset_timeout);
	put_number(o, "abort", r->abort_timeout);
	put_number(o, "login", r->login_timeout);
	put_number(o, "logout", r->logout_timeout);
	put_number(o, "noop_out_interval", r->noop_out_interval);
	put_number(o, "noop_out_timeout", r->noop_out_timeout);
	return o;
}

/* Who proved to be whom; the secrets are forgotten, and would not be told. */
static struct json_object *show_chap(const struct node_record *r)
{
	struct json_object *o = json_object_new_object();
	bool chap = r->authmethod == NODE_AUTH_CHAP;

	put_text(o, "username", chap && *r->username ? r->username : NULL);
	put_text(o, "username_in", chap && *r->username_in ? r->username_in : NULL);
	return o;
}

static void put_info(
	struct json_object *o, const struct daemon_session *s, const struct ini_session_info *i)
{
	const uint8_t *b = i->isid.bytes;
	uint64_t now = loop_now(s->daemon->loop);
	char isid[16];

	snprintf(
		isid, sizeof(isid), "%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
	put_text(o, "initiator", i->initiator_name);
	put_text(o, "isid", isid);
	put_number(o, "tsih", i->tsih);
	put_text(o, "connected_to", i->portal);
	put_text(o, "provider", i->connected ? i->conn.provider : NULL);
	put_number(
		o, "connected_s", i->connected ? (now - i->connected_since_ns) / LOOP_NS_PER_S : 0);
	put_text(o, "last_error", *i->last_error ? i->last_error : NULL);
	put_number(o, "recoveries", i->logins ? i->logins - 1 : 0);
	json_object_object_add(o, "params", i->logins ? show_params(&i->params) : NULL);
	json_object_object_add(o, "info", i->connected ? show_conn(&i->conn) : NULL);
	json_object_object_add(o, "stats", show_statistics(i));
}

static struct json_object *show_session(const struct daemon_session *s)
{
	struct json_object *o = json_object_new_object();
	const struct node_record *r = &s->record;
	struct ini_session_info info;

	put_number(o, "session", s->number);
	put_node(o, r);
	put_text(o, "state", session_state_name(s));
	json_object_object_add(o, "timeouts", show_timeouts(r));
	json_object_object_add(o, "chap", show_chap(r));
	if (s->ini) {
		ini_session_get_info(s->ini, &info);
		put_info(o, s, &info);
	}
	json_object_object_add(o, "luns", show_luns(s));
	return o;
}

void sessions_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct json_object *reply, *list;
	struct daemon_session *s;
	struct request_filter f;

	if (!request_filter(r, json, &f))
		return;
	list = json_object_new_array();
	list_for_each(s, &d->sessions, link)
		if (session_matches(s, &f))
			json_object_array_add(list, show_session(s));
	reply = json_object_new_object();
	json_object_object_add(reply, "sessions", list);
	control_reply(r, reply);
}

/* ---- the daemon ---- */

static size_t count(const struct list *head)
{
	size_t n = 0;

	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

void status_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	struct json_object *o = json_object_new_object();

	(void)json;
	put_text(o, "version", ISERAN_VERSION);
	put_number(o, "pid", (uint64_t)getpid());
	put_number(o, "uptime_s", (loop_now(d->loop) - d->started_ns) / LOOP_NS_PER_S);
	put_text(o, "initiator", records_initiator_name(d->records));
	put_text(o, "state_dir", d->config.state_directory);
	put_text(o, "runtime_dir", d->config.runtime_directory);
	put_text(o, "log_level", levels[d->config.log_level]);
	put_bool(o, "devices", !d->config.no_devices);
	put_number(o, "sessions", count(&d->sessions));
	put_number(o, "logins_waiting", count(&d->autologins));
	control_reply(r, o);
}
