/* The start of isertd, step by step, each with its one line when it fails; and the end, which
 * undoes what the start has done. Called by main.c. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "target/cli/control_path.h"
#include "target/daemon/daemon.h"

void daemon_print_report(const struct config_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		fprintf(stderr, "isertd: %s\n", r->lines[i]);
	if (r->incomplete)
		fprintf(stderr, "isertd: and more\n");
}

static int fail(const char *what, const char *where, int err)
{
	fprintf(stderr, "isertd: %s%s%s: %s\n", what, where[0] ? " " : "", where, strerror(-err));
	return EXIT_FAILED;
}

/* ---- workers ---- */

static size_t cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (size_t)CPU_COUNT(&set);
}

static int start_worker(struct daemon *d, size_t i)
{
	struct daemon_worker *w = &d->workers[i];
	const struct worker_config config = {
		.spin_ns = d->config->busy_poll_ns,
		.commands = (unsigned)d->config->commands,
		.arena_size = d->config->arena_size,
	};

	w->daemon = d;
	errno = ENOMEM;
	w->worker = worker_new((unsigned)i, &config, d->targets);
	if (!w->worker)
		return -errno;
	d->worker_list[i] = w->worker;
	return movers_new(w, d->config);
}

static int start_workers(struct daemon *d)
{
	int err = 0;

	d->workers = alloc_array(d->worker_count, sizeof(*d->workers));
	d->worker_list = alloc_array(d->worker_count, sizeof(struct worker *));
	if (!d->workers || !d->worker_list)
		err = -ENOMEM;
	for (size_t i = 0; i < d->worker_count && err == 0; i++)
		err = start_worker(d, i);
	if (err < 0)
		return fail("cannot make a worker of", "loops", err);
	d->spread.workers = d->worker_list;
	d->spread.count = d->worker_count;
	return EXIT_OK;
}

/* ---- portals ---- */

static const char *listen_advice(int err)
{
	static const struct {
		int err;
		const char *advice;
	} rows[] = {
		{-EADDRINUSE, "the port is in use; end the other program, or name another port"},
		{-EADDRNOTAVAIL, "the address is not one of this host's"},
		{-EACCES, "not permitted; root may listen on ports below 1024"},
		{-EAFNOSUPPORT, "this host has no such address family"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].err == err)
			return rows[i].advice;
	return strerror(-err);
}

static int open_portal(struct daemon *d, const char *text, const struct address *address, int fd)
{
	const struct listener_config config = {
		.login_timeout_ns = d->config->login_timeout_ns,
		.max_waiting = (unsigned)d->config->max_logins,
		.fd = fd,
	};
	int err = portal_new(d->loop, address, &config, daemon_protocols, DAEMON_PROTOCOLS,
		&d->spread, &d->portals[d->portal_count]);

	if (err < 0) {
		fprintf(stderr, "isertd: portal %s: %s\n", text, listen_advice(err));
		return EXIT_FAILED;
	}
	d->portal_count++;
	return EXIT_OK;
}

static int start_portal(struct daemon *d, const char *text)
{
	struct address address;
	const char *why;

	if (address_parse(text, ADDRESS_DEFAULT_PORT, &address, &why) < 0) {
		fprintf(stderr, "isertd: portal %s: %s\n", text, why);
		return EXIT_USAGE;
	}
	return open_portal(d, text, &address, 0);
}

/* How many sockets the service manager has opened for us, from *ret_first on. */
static int activated_sockets(int *ret_first)
{
#ifdef HAVE_SYSTEMD
	*ret_first = SD_LISTEN_FDS_START;
	return sd_listen_fds(1);
#else
	*ret_first = 0;
	return 0;
#endif
}

static int make_portals(struct daemon *d, size_t count)
{
	d->portals = alloc_array(count, sizeof(struct portal *));
	d->targets->portals = alloc_array(count, ADDRESS_TEXT_SIZE);
	if (!d->portals || !d->targets->portals)
		return fail("cannot make", "portals", -ENOMEM);
	return EXIT_OK;
}

static int configured_portals(struct daemon *d)
{
	static const struct config_word everywhere = {.word = "*:3260"};
	const struct config_list *list = &d->config->portals;
	size_t count = list->count ? list->count : 1;
	int status = make_portals(d, count);

	for (size_t i = 0; i < count && status == EXIT_OK; i++) {
		const struct config_word *w =
			list->count ? &config_item(*list, struct config_word, i) : &everywhere;

		status = start_portal(d, w->word);
	}
	return status;
}

/* Sockets that systemd opened take the place of the configured portals. */
static int activated_portals(struct daemon *d, int first, size_t count)
{
	int status = make_portals(d, count);

	for (size_t i = 0; i < count && status == EXIT_OK; i++)
		status = open_portal(d, "of the service manager", NULL, first + (int)i);
	return status;
}

static int start_portals(struct daemon *d)
{
	int first, count = activated_sockets(&first);
	int status = count > 0 ? activated_portals(d, first, (size_t)count) : configured_portals(d);

	for (size_t i = 0; i < d->portal_count; i++)
		address_print(portal_address(d->portals[i]), d->targets->portals[i]);
	d->targets->portal_count = d->portal_count;
	if (status == EXIT_OK && rdma_portals_new(d) < 0)
		return fail("cannot make", "portals", -ENOMEM);
	return status;
}

static int write_ports(struct daemon *d)
{
	FILE *f = fopen(d->options.port_file, "we");
	bool failed;

	if (!f)
		return fail("cannot write", d->options.port_file, -errno);
	d->ports_written = true;
	for (size_t i = 0; i < d->portal_count; i++)
		fprintf(f, "%u\n", address_port(portal_address(d->portals[i])));
	failed = ferror(f) != 0;
	if (fclose(f) || failed)
		return fail("cannot write", d->options.port_file, -errno);
	return EXIT_OK;
}

/* ---- control socket ---- */

const char *daemon_control_path(const struct daemon *d)
{
	return d->control_path;
}

/* Only the directory of the default path is ours to make. */
static void make_directory(const char *path)
{
	char directory[CONTROL_PATH_SIZE];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash && slash != directory) {
		*slash = '\0';
		mkdir(directory, 0755);
	}
}

static int choose_control(struct daemon *d)
{
	char fallback[CONTROL_PATH_SIZE];
	const char *path = fallback;

	control_path_default(fallback);
	if (d->options.control)
		path = d->options.control;
	else if (!getenv("ISERTD_CONTROL") && d->config->control)
		path = d->config->control;
	else
		make_directory(path);
	d->control_path = alloc_string(path);
	return d->control_path ? 0 : -ENOMEM;
}

static int start_control(struct daemon *d)
{
	int err = choose_control(d);

	if (err == 0)
		err = control_server_new(d->loop, d->control_path, daemon_control, d, &d->control);
	if (err == -EADDRINUSE) {
		fprintf(stderr,
			"isertd: another isertd answers at %s; end it, or give this one "
			"its own --control\n",
			d->control_path);
		return EXIT_FAILED;
	}
	if (err < 0)
		return fail("control socket", d->control_path ? d->control_path : "", err);
	return EXIT_OK;
}

/* ---- threads ---- */

static void *run_worker(void *arg)
{
	struct daemon_worker *w = arg;

	loop_run(w->worker->loop);
	return NULL;
}

static int start_threads(struct daemon *d)
{
	for (size_t i = 0; i < d->worker_count; i++) {
		struct daemon_worker *w = &d->workers[i];
		int err = pthread_create(&w->thread, NULL, run_worker, w);

		if (err)
			return fail("cannot start", "a thread", -err);
		w->started = true;
	}
	return EXIT_OK;
}

static int start_targets(struct daemon *d)
{
	struct config_report report = {.unnumbered = quick_wanted(&d->options)};
	int err;

	d->worker_count = d->config->loops ? d->config->loops : cpu_count();
	err = target_set_new(d->config, d->worker_count, store_open, &report, &d->targets);
	daemon_print_report(&report);
	if (err == -ENOMEM && !report.errors)
		fail("cannot make", "targets", err);
	config_report_free(&report);
	return err < 0 ? EXIT_USAGE : EXIT_OK;
}

static void announce(const struct daemon *d)
{
	for (size_t i = 0; i < d->portal_count; i++)
		log_info("portal", "listening on %s", d->targets->portals[i]);
}

int daemon_start(struct daemon *d)
{
	static int (*const steps[])(struct daemon * d) = {
		start_targets,
		start_workers,
		start_control,
		start_portals,
		start_threads,
	};
	int status = EXIT_OK;

	d->started_ns = loop_now(d->loop);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && status == EXIT_OK; i++)
		status = steps[i](d);
	if (status == EXIT_OK && d->options.port_file)
		status = write_ports(d);
	if (status == EXIT_OK)
		announce(d);
	return status;
}

/* ---- the end ---- */

static void end_threads(struct daemon *d)
{
	for (size_t i = 0; d->workers && i < d->worker_count; i++)
		if (d->workers[i].started) {
			loop_stop(d->workers[i].worker->loop);
			pthread_join(d->workers[i].thread, NULL);
		}
}

static void free_workers(struct daemon *d)
{
	for (size_t i = 0; d->workers && i < d->worker_count; i++) {
		struct daemon_worker *w = &d->workers[i];

		if (w->worker)
			worker_close_channels(w->worker);
		worker_free(w->worker);
	}
}

void daemon_free(struct daemon *d)
{
	end_threads(d);
	for (size_t i = 0; i < d->portal_count; i++)
		portal_free(d->portals[i]);
	rdma_portals_free(d);
	control_server_free(d->control);
	free_workers(d);
	target_set_free(d->targets);
	if (d->ports_written)
		remove(d->options.port_file);
	alloc_free(d->portals);
	alloc_free(d->worker_list);
	alloc_free(d->workers);
	alloc_free((char *)d->control_path);
	config_release(d->config);
	loop_timer_cancel(&d->stop_timer);
	loop_free(d->loop);
}
