/* Signals as events of a loop, by signalfd. Called by the daemons' main(). */
#include "common/loop/loop_private.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"

struct loop_signals {
	struct loop_watch watch;
	void (*handler)(void *arg, int signal);
	void *arg;
};

static void signals_ready(struct loop_watch *w, unsigned events)
{
	struct loop_signals *s = container_of(w, struct loop_signals, watch);
	struct signalfd_siginfo info;

	(void)events;
	if (sys_read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->handler(s->arg, (int)info.ssi_signo);
}

void loop_signals_free(struct loop_signals *s)
{
	if (!s)
		return;
	loop_watch_remove(&s->watch);
	if (s->watch.fd >= 0)
		close(s->watch.fd);
	alloc_free(s);
}

int loop_signals(
	struct loop *l, const int *signals, void (*handler)(void *arg, int signal), void *arg)
{
	struct loop_signals *s;
	sigset_t set;
	int rc;

	if (l->signals)
		return -EEXIST;
	s = alloc_zeroed(sizeof(*s));
	if (!s)
		return -ENOMEM;
	sigemptyset(&set);
	for (; *signals; signals++)
		sigaddset(&set, *signals);
	s->handler = handler;
	s->arg = arg;
	s->watch.ready = signals_ready;
	s->watch.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	rc = s->watch.fd < 0 ? -errno : loop_watch_add(l, &s->watch, LOOP_READABLE);
	if (rc == 0)
		rc = -pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (rc < 0)
		goto fail;
	l->signals = s;
	return 0;
fail:
	loop_signals_free(s);
	return rc;
}
