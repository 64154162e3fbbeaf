/* One session with its devices, see sessions.h. What it waits for ends in session_proceed(); what
 * comes next is decided in one place, session_step(), which the loop calls. Called by logins.c,
 * autologin.c and stop.c. */
#include "initiator/daemon/sessions.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/resolve.h"

#define ROOM "session"

void session_proceed(struct daemon_session *s)
{
	loop_defer(s->daemon->loop, &s->step);
}

static void tell(struct session_waiter *w, struct daemon_session *s, int status, const char *error)
{
	struct session_waiter waiter = *w;

	*w = (struct session_waiter){0};
	if (waiter.done)
		waiter.done(waiter.owner, s, status, error);
}

/* ---- the session's events ---- */

static void on_logged_in(void *owner)
{
	struct daemon_session *s = owner;

	if (s->phase == SESSION_LOGIN) {
		s->phase = SESSION_SCAN;
		s->rescan = true;
	} else {
		log_info(ROOM, "session %u is back: %s at %s", s->number, s->record.target_name,
			s->portal);
	}
	s->rescan = s->rescan || s->unscanned;
	s->lost_why[0] = '\0';
	session_proceed(s);
}

/* A person who waits for a login hears of each attempt. */
static void tell_waiting(
	struct daemon_session *s, int error, unsigned login_status, const char *why)
{
	char what[SESSION_WHY_SIZE], line[SESSION_WHY_SIZE + 64];

	s->attempts++;
	if (!s->login.waiting)
		return;
	failure_line(s->portal, error, login_status, why, what, sizeof(what));
	snprintf(line, sizeof(line), "%s; attempt %u of %u follows", what, s->attempts + 1,
		s->record.initial_login_retry_max);
	s->login.waiting(s->login.owner, line);
}

/* Each attempt to come back tells; the same reason is told once. */
static void on_lost(void *owner, int error, unsigned login_status, const char *why)
{
	struct daemon_session *s = owner;

	if (s->phase == SESSION_LOGIN)
		tell_waiting(s, error, login_status, why);
	if (strncmp(s->lost_why, why, sizeof(s->lost_why) - 1) == 0 && *why)
		return;
	snprintf(s->lost_why, sizeof(s->lost_why), "%s", why);
	log_warning(ROOM, "session %u: %s at %s: %s", s->number, s->record.target_name, s->portal,
		*why ? why : strerror(-error));
}

static void on_luns_changed(void *owner)
{
	struct daemon_session *s = owner;

	s->rescan = true;
	session_proceed(s);
}

static void on_ended(void *owner, int error, unsigned login_status, const char *why)
{
	struct daemon_session *s = owner;

	s->ended = true;
	if (error < 0 && s->phase == SESSION_LOGIN) {
		s->end_status = (int)failure_status(error, login_status);
		failure_line(s->portal, error, login_status, why, s->end_why, sizeof(s->end_why));
	} else if (s->phase != SESSION_ENDING) {
		log_error(ROOM, "session %u has ended: %s", s->number, why);
	}
	s->force = s->force || s->phase != SESSION_ENDING;
	s->phase = SESSION_ENDING;
	session_proceed(s);
}

static const struct ini_session_events events = {
	.logged_in = on_logged_in,
	.lost = on_lost,
	.luns_changed = on_luns_changed,
	.ended = on_ended,
};

/* ---- scanning ---- */

static void scanned(void *owner, int error, const struct disk_info *luns, size_t count)
{
	struct daemon_session *s = owner;

	s->scan = NULL;
	s->unscanned = error < 0;
	if (error < 0)
		log_warning(ROOM, "session %u: its LUNs cannot be scanned: %s", s->number,
			strerror(-error));
	else if (s->phase != SESSION_ENDING)
		luns_take_scan(s, luns, count);
	session_proceed(s);
}

static void scan(struct daemon_session *s)
{
	int r;

	s->rescan = false;
	r = ini_scan_start(s->ini, scanned, s, &s->scan);
	if (r < 0)
		scanned(s, r, NULL, 0);
}

/* ---- the life between login and logout ---- */

static void settled(struct daemon_session *s)
{
	if (s->deferred) {
		s->deferred = false;
		s->rescan = true;
		session_proceed(s);
		return;
	}
	if (s->phase == SESSION_SCAN) {
		s->phase = SESSION_UP;
		tell(&s->login, s, STATUS_OK, NULL);
	}
	if (s->unscanned)
		tell(&s->rescanned, s, STATUS_FAILED, "its LUNs cannot be scanned");
	else
		tell(&s->rescanned, s, STATUS_OK, NULL);
}

static void step_up(struct daemon_session *s)
{
	luns_leave_step(s);
	if (s->scan)
		return;
	if (s->rescan && !luns_busy(s)) {
		scan(s);
		return;
	}
	luns_start(s);
	if (!s->rescan && !luns_busy(s))
		settled(s);
}

/* ---- the end ---- */

static void session_free(struct daemon_session *s)
{
	loop_call_cancel(&s->step);
	loop_timer_cancel(&s->retry);
	ini_session_free(s->ini);
	alloc_free(s);
}

static void finish(struct daemon_session *s)
{
	struct daemon *d = s->daemon;
	const char *why = s->end_status ? s->end_why : "logged out meanwhile";
	int status = s->end_status ? s->end_status : STATUS_FAILED;

	list_remove(&s->link);
	if (!s->end_status)
		log_info(ROOM, "session %u is logged out: %s at %s", s->number,
			s->record.target_name, s->portal);
	tell(&s->login, s, status, why);
	tell(&s->rescanned, s, status, why);
	tell(&s->logout, s, STATUS_OK, NULL);
	session_free(s);
	daemon_settle(d);
}

/* Back to what was before the logout was asked for; what has gone already comes again. */
static void refuse_logout(struct daemon_session *s)
{
	struct daemon_lun *l;

	s->refused = false;
	s->phase = SESSION_UP;
	list_for_each(l, &s->luns, link) {
		l->tried = l->export != NULL;
		l->flushed = false;
	}
	log_warning(ROOM, "session %u stays: %s", s->number, s->end_why);
	tell(&s->logout, s, STATUS_LOGOUT, s->end_why);
	session_proceed(s);
}

/* In order: what came before is given up, devices go (their dirty pages are written meanwhile),
 * caches are written, the session is logged out, disks are freed. With `force` the session goes
 * first, so that I/O which is held for a target that does not come back fails, and nothing waits
 * for it. */
static void step_ending(struct daemon_session *s)
{
	if (s->resolving)
		return;
	if (s->force && !s->ended)
		ini_session_logout(s->ini);
	if (s->scan) {
		ini_scan_cancel(s->scan);
		return;
	}
	if (s->refused && !s->force) {
		if (!luns_busy(s))
			refuse_logout(s);
		return;
	}
	if (!luns_stop(s) || !luns_flush(s) || s->refused)
		return;
	if (!s->ended)
		ini_session_logout(s->ini);
	else if (luns_free(s))
		finish(s);
}

static void session_step(struct loop_call *c)
{
	struct daemon_session *s = container_of(c, struct daemon_session, step);

	if (s->phase == SESSION_ENDING)
		step_ending(s);
	else if (s->phase != SESSION_LOGIN)
		step_up(s);
}

static void session_again(struct loop_timer *t)
{
	session_proceed(container_of(t, struct daemon_session, retry));
}

static int refuse_line(char why[SESSION_WHY_SIZE], int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse_line(char why[SESSION_WHY_SIZE], int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, SESSION_WHY_SIZE, format, arguments);
	va_end(arguments);
	return status;
}

static int check_logout(struct daemon_session *s, char why[SESSION_WHY_SIZE])
{
	char who[SESSION_WHY_SIZE];

	if (!luns_have_devices(s))
		return STATUS_OK;
	if (luns_in_use(s, who))
		return refuse_line(
			why, STATUS_BUSY, "%.440s; end that, or log out with --force", who);
	if (strcmp(session_state_name(s), "LOGGED_IN") != 0)
		return refuse_line(why, STATUS_NOT_CONNECTED,
			"session %u is not connected (%s): what its devices hold cannot be "
			"written; wait until it is back, or log out with --force",
			s->number, session_state_name(s));
	return STATUS_OK;
}

int session_logout(struct daemon_session *s, bool force, const struct session_waiter *done,
	char why[SESSION_WHY_SIZE])
{
	int status;

	if (done && s->logout.done)
		return refuse_line(
			why, STATUS_AGAIN, "session %u: a logout is under way already", s->number);
	if (!force && s->phase != SESSION_ENDING) {
		status = check_logout(s, why);
		if (status != STATUS_OK)
			return status;
	}
	if (done)
		s->logout = *done;
	s->phase = SESSION_ENDING;
	s->force = s->force || force;
	session_proceed(s);
	return STATUS_OK;
}

int session_rescan(
	struct daemon_session *s, const struct session_waiter *done, char why[SESSION_WHY_SIZE])
{
	if (s->phase != SESSION_UP)
		return refuse_line(why, STATUS_AGAIN, "session %u: its %s is under way", s->number,
			s->phase == SESSION_ENDING ? "logout" : "login");
	if (s->rescanned.done)
		return refuse_line(
			why, STATUS_AGAIN, "session %u: a rescan is under way already", s->number);
	if (strcmp(session_state_name(s), "LOGGED_IN") != 0)
		return refuse_line(why, STATUS_NOT_CONNECTED,
			"session %u is not connected (%s); its LUNs are scanned when it is back",
			s->number, session_state_name(s));
	s->rescanned = *done;
	s->rescan = true;
	session_proceed(s);
	return STATUS_OK;
}

/* ---- the beginning ---- */

static void forget_secrets(struct node_record *r)
{
	explicit_bzero(r->password, sizeof(r->password));
	explicit_bzero(r->password_in, sizeof(r->password_in));
}

static int make_ini(struct daemon_session *s, const struct address *portal)
{
	const struct node_record *r = &s->record;
	char where[RECORDS_ADDRESS_SIZE + 16];
	struct ini_session_config config;
	int err = ini_session_config_from_record(r, &config);

	if (err < 0)
		return err;
	config.loop = s->daemon->loop;
	config.mover = daemon_movers_find(s->daemon->movers, (enum node_transport)r->transport,
		(enum node_provider)r->provider, portal);
	if (!config.mover)
		return -EOPNOTSUPP;
	config.portal = *portal;
	if (!config.initiator_name)
		config.initiator_name = records_initiator_name(s->daemon->records);
	snprintf(where, sizeof(where), "%s,%u", r->address, r->port);
	ini_isid_make(config.initiator_name, config.target_name, where,
		r->transport == NODE_TRANSPORT_ISER ? DAEMON_ISID_ISER : DAEMON_ISID_TCP,
		&config.isid);
	return ini_session_new(&config, &events, s, &s->ini);
}

static void login_failed(struct daemon_session *s, enum ini_status status, const char *why)
{
	snprintf(s->end_why, sizeof(s->end_why), "%s", why);
	s->end_status = status;
	s->ended = true;
	s->phase = SESSION_ENDING;
	session_proceed(s);
}

static void resolved(void *owner, const struct address *portal, const char *why)
{
	struct daemon_session *s = owner;
	char line[SESSION_WHY_SIZE];
	int err;

	_Static_assert(SESSION_WHY_SIZE >= RECORDS_WHY_SIZE, "both are written to `line`");
	s->resolving = false;
	if (s->phase == SESSION_ENDING) {
		s->ended = true; /* nothing has begun */
		session_proceed(s);
		return;
	}
	if (!portal) {
		login_failed(s, STATUS_UNREACHABLE, why);
		return;
	}
	if (node_record_check(&s->record, line) < 0) {
		login_failed(s, STATUS_USAGE, line);
		return;
	}
	address_print(portal, s->portal);
	err = make_ini(s, portal);
	forget_secrets(&s->record);
	if (err < 0) {
		failure_line(s->portal, err, 0, NULL, line, sizeof(line));
		login_failed(s, failure_status(err, 0), line);
		return;
	}
	ini_session_start(s->ini);
}

/* The same LUNs twice, over two transports, are two devices: the second has names of its own. */
static const char *choose_suffix(struct daemon *d, const struct node_record *r)
{
	static const char *const suffixes[] = {
		[NODE_TRANSPORT_TCP] = "-tcp",
		[NODE_TRANSPORT_ISER] = "-iser",
	};
	const struct daemon_session *s;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, r->target_name) &&
			!strcmp(s->record.address, r->address) && s->record.port == r->port &&
			!*s->suffix)
			return suffixes[r->transport];
	return "";
}

int session_login(struct daemon *d, const struct node_record *r, const struct session_waiter *done,
	char why[SESSION_WHY_SIZE])
{
	struct daemon_session *s = session_find(d, r);

	if (d->stopping)
		return refuse_line(why, STATUS_FAILED, "iserd is being stopped");
	if (s)
		return refuse_line(why, STATUS_EXISTS, "already logged in (session %u, %s)",
			s->number, session_state_name(s));
	s = alloc_zeroed(sizeof(*s));
	if (!s)
		return refuse_line(why, STATUS_NO_MEMORY, "no memory");
	s->daemon = d;
	s->record = *r;
	s->number = ++d->last_number;
	s->suffix = choose_suffix(d, r);
	s->step.call = session_step;
	s->retry.expired = session_again;
	list_init(&s->luns);
	if (done)
		s->login = *done;
	snprintf(s->portal, sizeof(s->portal), strchr(r->address, ':') ? "[%.50s]:%u" : "%.50s:%u",
		r->address, r->port);
	s->resolving = true;
	if (resolve_start(d, r->address, r->port, resolved, s) < 0) {
		forget_secrets(&s->record);
		alloc_free(s);
		return refuse_line(why, STATUS_NO_MEMORY, "no memory");
	}
	list_append(&d->sessions, &s->link);
	if (r->nr_sessions > 1)
		log_warning(ROOM,
			"session %u: node.session.nr_sessions is %u in the record of %s; one "
			"session per record is made",
			s->number, r->nr_sessions, r->target_name);
	return STATUS_OK;
}

/* ---- finding ---- */

struct daemon_session *session_find(struct daemon *d, const struct node_record *r)
{
	struct daemon_session *s;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, r->target_name) &&
			!strcmp(s->record.address, r->address) && s->record.port == r->port &&
			s->record.transport == r->transport)
			return s;
	return NULL;
}

struct daemon_session *session_find_target(struct daemon *d, const char *target_name)
{
	struct daemon_session *s, *found = NULL;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, target_name) &&
			(!found || s->phase == SESSION_UP))
			found = s;
	return found;
}

bool session_matches(const struct daemon_session *s, const struct request_filter *f)
{
	const struct record_filter *r = &f->record;

	return (!f->session || f->session == s->number) &&
	       (!r->target_name || !strcmp(r->target_name, s->record.target_name)) &&
	       (!r->address || !strcmp(r->address, s->record.address)) &&
	       (!r->port || r->port == s->record.port) &&
	       (r->tpgt < 0 || (uint32_t)r->tpgt == s->record.tpgt) &&
	       (!r->iface || !strcmp(r->iface, s->record.iface));
}

const char *session_state_name(const struct daemon_session *s)
{
	struct ini_session_info info;

	if (!s->ini)
		return s->ended ? "CLOSED" : "CONNECTING";
	ini_session_get_info(s->ini, &info);
	return info.state == INI_SESSION_RECOVERING ? "REOPEN" : ini_session_state_name(info.state);
}
