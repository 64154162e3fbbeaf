/* What both daemons begin with, see service.h. */
#include "common/control/service.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

void service_notify(const char *state)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, state);
#else
	(void)state;
#endif
}

/* A session takes a descriptor, a device or a LUN a few. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int service_loop_new(const struct loop_config *config, void (*on_signal)(void *arg, int signal),
	void *arg, struct loop **ret)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, 0};
	struct loop *l;
	int rc;

	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	raise_descriptors();
	errno = ENOMEM;
	l = loop_new(config);
	if (!l)
		return -errno;
	rc = loop_signals(l, signals, on_signal, arg);
	if (rc < 0) {
		loop_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}
