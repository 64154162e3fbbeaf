/* What isertadm is shown, as JSON: the daemon and what it exports, and each worker's sessions.
 * Called by control.c; the functions named _of() on the worker's loop. */
#include <unistd.h>

#include "target/daemon/daemon.h"
#include "target/session_state.h"

static void put_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

static void put_number(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

static void put_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

/* ---- targets ---- */

static void put_delay(struct json_object *o, const struct config_delay *d)
{
	struct json_object *delay;

	if (!d)
		return;
	delay = json_object_new_object();
	put_number(delay, "read_ns", d->read);
	put_number(delay, "write_ns", d->write);
	put_number(delay, "flush_ns", d->flush);
	json_object_object_add(o, "delay", delay);
}

static void put_faults(struct json_object *o, const struct config_list *faults)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < faults->count; i++) {
		const struct config_fault *f = &config_item(*faults, struct config_fault, i);
		struct json_object *fault = json_object_new_object();

		put_text(fault, "operation", config_fault_operation_name(f->operation));
		put_number(fault, "from", f->from);
		put_number(fault, "to", f->to);
		put_number(fault, "after", f->after);
		put_number(fault, "count", f->count);
		put_text(fault, "error", config_fault_error_name(f->error));
		json_object_array_add(list, fault);
	}
	json_object_object_add(o, "faults", list);
}

static struct json_object *show_lun(const struct tgt_lun *l)
{
	static const char *const stores[] = {"file", "memory", "null"};
	struct json_object *o = json_object_new_object();
	const struct device *d = l->device;

	put_number(o, "lun", l->number);
	put_text(o, "backend", stores[l->row->backend]);
	put_text(o, "path", l->row->path);
	put_number(o, "size", atomic_load(&d->block_count) * d->block_size);
	put_number(o, "block_size", d->block_size);
	put_bool(o, "readonly", d->readonly);
	put_bool(o, "write_cache", atomic_load(&d->write_cache));
	put_text(o, "serial", d->serial);
	put_delay(o, l->row->delay);
	put_faults(o, &l->row->faults);
	return o;
}

/* Names, and nothing of what is proved with them. */
static void put_chap(struct json_object *o, const struct config_chap *c)
{
	put_bool(o, "chap", c != NULL);
	put_text(o, "chap_name", c ? c->name : NULL);
	put_text(o, "chap_mutual_name", c && c->mutual ? c->mutual->name : NULL);
}

static struct json_object *show_initiator(const struct config_initiator *i)
{
	struct json_object *o = json_object_new_object(), *luns = json_object_new_array();

	put_text(o, "name", i->name);
	put_chap(o, i->chap);
	for (size_t k = 0; k < i->luns.count; k++)
		json_object_array_add(luns,
			json_object_new_int64(
				(int64_t)config_item(i->luns, struct config_number, k).number));
	json_object_object_add(o, "luns", luns);
	return o;
}

static struct json_object *show_initiators(const struct config_target *t)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < t->initiators.count; i++)
		json_object_array_add(list,
			show_initiator(&config_item(t->initiators, struct config_initiator, i)));
	return list;
}

static struct json_object *show_target(const struct tgt_target *t)
{
	struct json_object *o = json_object_new_object(), *luns = json_object_new_array();

	put_text(o, "name", t->name);
	put_text(o, "alias", t->row->alias);
	put_chap(o, t->row->chap);
	json_object_object_add(o, "initiators", show_initiators(t->row));
	for (size_t i = 0; i < t->lun_count; i++)
		json_object_array_add(luns, show_lun(t->luns[i]));
	json_object_object_add(o, "luns", luns);
	return o;
}

static struct json_object *show_targets(struct target_set *set)
{
	struct json_object *list = json_object_new_array();
	struct tgt_target *t;

	pthread_mutex_lock(&set->lock);
	list_for_each(t, &set->targets, link)
		json_object_array_add(list, show_target(t));
	pthread_mutex_unlock(&set->lock);
	return list;
}

struct json_object *show_daemon(struct daemon *d)
{
	struct json_object *o = json_object_new_object(), *portals = json_object_new_array();

	put_text(o, "version", ISERAN_VERSION);
	put_number(o, "pid", (uint64_t)getpid());
	put_number(o, "uptime_s", (loop_now(d->loop) - d->started_ns) / LOOP_NS_PER_S);
	put_number(o, "loops", d->worker_count);
	put_number(o, "sessions", registry_count(&d->targets->registry));
	put_text(o, "config", d->config->file);
	for (size_t i = 0; i < d->targets->portal_count; i++)
		json_object_array_add(portals, json_object_new_string(d->targets->portals[i]));
	json_object_object_add(o, "portals", portals);
	json_object_object_add(o, "targets", show_targets(d->targets));
	return o;
}

/* ---- sessions ---- */

static void put_connection(struct json_object *o, const struct tgt_conn *c)
{
	struct dm_conn_info info;

	dm_conn_get_info(c->dm, &info);
	put_text(o, "state", conn_fsm_state_name(c->fsm.state));
	put_text(o, "mover", info.mover);
	put_text(o, "provider", info.provider);
	put_text(o, "local", info.local);
	put_bool(o, "header_digest", info.header_digest);
	put_bool(o, "data_digest", info.data_digest);
	put_text(o, "detail", info.detail);
	put_number(o, "bytes_sent", info.bytes_sent);
	put_number(o, "bytes_received", info.bytes_received);
}

static void put_counters(struct json_object *o, const struct tgt_session_counters *c)
{
	put_number(o, "commands", c->commands);
	put_number(o, "errors", c->errors);
	put_number(o, "read_bytes", c->read_bytes);
	put_number(o, "written_bytes", c->written_bytes);
}

static struct json_object *show_session(const struct tgt_session *s)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "tsih", s->entry.tsih);
	put_text(o, "initiator", s->initiator_name);
	put_text(o, "alias", s->initiator_alias);
	put_text(o, "target", s->target ? s->target->name : NULL);
	put_bool(o, "discovery", s->entry.discovery);
	put_text(o, "peer", s->peer);
	put_text(o, "port", s->port);
	put_number(o, "loop", s->worker->index);
	put_number(o, "age_s", (loop_now(s->worker->loop) - s->since_ns) / LOOP_NS_PER_S);
	put_number(o, "luns", s->slot_count);
	put_number(o, "under_way", s->outstanding);
	put_number(o, "fenced_by", s->predecessors);
	if (s->conn)
		put_connection(o, s->conn);
	else
		put_text(o, "state", "waits for its backends");
	put_counters(o, &s->counters);
	return o;
}

struct json_object *show_sessions_of(struct worker *w)
{
	struct json_object *list = json_object_new_array();
	struct tgt_session *s;

	list_for_each(s, &w->sessions, worker_link)
		if (!s->finished)
			json_object_array_add(list, show_session(s));
	return list;
}

static size_t list_length(const struct list *head)
{
	size_t n = 0;

	for (const struct list *l = head->next; l != head; l = l->next)
		n++;
	return n;
}

struct json_object *show_totals_of(struct worker *w)
{
	struct json_object *o = json_object_new_object();
	struct tgt_session_counters sum = w->counters;
	uint64_t under_way = 0;
	struct tgt_session *s;

	list_for_each(s, &w->sessions, worker_link) {
		sum.commands += s->counters.commands;
		sum.errors += s->counters.errors;
		sum.read_bytes += s->counters.read_bytes;
		sum.written_bytes += s->counters.written_bytes;
		under_way += s->outstanding;
	}
	put_number(o, "loop", w->index);
	put_number(o, "connections", list_length(&w->conns));
	put_number(o, "sessions", list_length(&w->sessions));
	put_number(o, "under_way", under_way);
	put_number(o, "commands_free", pool_available(w->commands));
	put_counters(o, &sum);
	return o;
}
