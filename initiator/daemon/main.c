/* iserd: the initiator daemon. Starts everything or nothing, turns its loop until it is told to
 * stop and every session has ended. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "common/base/log.h"
#include "initiator/daemon/daemon.h"

static void notify(const char *state)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, state);
#else
	(void)state;
#endif
}

static void on_signal(void *arg, int number)
{
	struct daemon *d = arg;

	if (number == SIGHUP)
		return; /* records are read when they are needed: there is nothing to reload */
	notify("STOPPING=1");
	daemon_stop(d);
}

/* A session takes one descriptor, a device a few. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int run(struct daemon *d)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, 0};
	const struct loop_config loop = {.spin_ns = d->config.busy_poll * 1000};
	int status;

	raise_descriptors();
	d->loop = loop_new(&loop);
	if (!d->loop || loop_signals(d->loop, signals, on_signal, d) < 0) {
		fprintf(stderr, "iserd: cannot make its loop: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	status = daemon_start(d);
	if (status != EXIT_OK)
		return status;
	notify("READY=1");
	loop_run(d->loop);
	if (!list_empty(&d->sessions) || d->busy) {
		/* Something does not end: nothing that it points to may be freed. */
		fflush(NULL);
		_exit(EXIT_FAILED);
	}
	if (d->lost)
		return EXIT_FAILED;
	log_info("stop", "all sessions are logged out");
	return EXIT_OK;
}

static int serve(struct daemon *d)
{
	int status;

	log_set_level((enum log_level)d->config.log_level);
	d->pid_file = -1;
	list_init(&d->sessions);
	list_init(&d->autologins);
	list_init(&d->discoveries);
	status = run(d);
	daemon_free(d);
	return status;
}

int main(int argc, char **argv)
{
	struct daemon d = {0};

	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	if (daemon_options_parse(&d.config, argc, argv) < 0)
		return EXIT_USAGE;
	if (d.config.help)
		daemon_options_help(stdout);
	else if (d.config.version)
		daemon_version(stdout);
	else
		return serve(&d);
	return EXIT_OK;
}
