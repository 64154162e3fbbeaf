/* SIGHUP and `isertadm reload`: the configuration is read anew, and what is exported changes to it
 * at once, or not at all. What belongs to the start (portals, loops) stays. */
#include <errno.h>
#include <string.h>

#include "common/base/log.h"
#include "target/daemon/daemon.h"
#include "target/session_state.h"

static void reload_sessions(struct broadcast_part *p, void *arg)
{
	struct worker *w = p->worker->worker;
	struct tgt_session *s, *next;

	(void)arg;
	list_for_each_safe(s, next, &w->sessions, worker_link)
		tgt_session_reload(s);
	worker_sweep_channels(w);
}

static bool same_portals(const struct config *a, const struct config *b)
{
	if (a->portals.count != b->portals.count)
		return false;
	for (size_t i = 0; i < a->portals.count; i++)
		if (strcmp(config_item(a->portals, struct config_word, i).word,
			    config_item(b->portals, struct config_word, i).word))
			return false;
	return true;
}

static void warn_unchanged(const struct config *old, const struct config *new)
{
	if (!same_portals(old, new))
		log_warning("reload", "portals have changed: a restart takes them over");
	if (old->loops != new->loops || old->queue_depth != new->queue_depth ||
		old->arena_size != new->arena_size || old->commands != new->commands)
		log_warning("reload", "loops, queue_depth, commands or arena_size have changed: a "
				      "restart takes them over");
}

static int apply(struct daemon *d, struct config *c, struct config_report *report)
{
	int err;

	/* The movers' receives were made for the depth of the start. */
	warn_unchanged(d->config, c);
	c->queue_depth = d->config->queue_depth;
	err = target_set_reload(d->targets, c, report);
	if (err < 0)
		return err;
	if (d->options.log_level < 0)
		log_set_level((enum log_level)c->log_level);
	return broadcast_run(d, reload_sessions, NULL, NULL);
}

static void log_report(const struct config_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		log_warning("reload", "%s", r->lines[i]);
}

int daemon_reload(struct daemon *d, struct config_report *report)
{
	struct config *c;
	int err;

	if (quick_wanted(&d->options)) {
		config_report_add(report, false, "command line", 0,
			"there is no configuration file to read anew; start with --config");
		err = -EINVAL;
	} else {
		err = config_load(d->options.config, report, &c);
		if (err == 0) {
			err = apply(d, c, report);
			config_release(c);
		}
	}
	log_report(report);
	if (err < 0)
		log_error("reload", "nothing has changed: %s",
			err == -EINVAL ? "there are mistakes" : strerror(-err));
	else
		log_info("reload", "%s is in force", d->options.config);
	return err;
}
