/* iserd: the initiator daemon. Starts everything or nothing, turns its loop until it is told to
 * stop and every session has ended. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/control/service.h"
#include "initiator/daemon/daemon.h"

static void on_signal(void *arg, int number)
{
	struct daemon *d = arg;

	if (number == SIGHUP)
		return; /* records are read when they are needed: there is nothing to reload */
	service_notify("STOPPING=1");
	daemon_stop(d);
}

static int run(struct daemon *d)
{
	int status = daemon_start(d);

	if (status != EXIT_OK)
		return status;
	service_notify("READY=1");
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
	const struct loop_config loop = {.spin_ns = d->config.busy_poll * 1000};
	int status, err = service_loop_new(&loop, on_signal, d, &d->loop);

	if (err < 0) {
		/* Nothing is the daemon's own yet: there is nothing to free. */
		fprintf(stderr, "iserd: cannot make its loop: %s\n", strerror(-err));
		return EXIT_FAILED;
	}
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
