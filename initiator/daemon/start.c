/* The start of iserd, step by step, each with its one line when it fails; and the end, which undoes
 * what the start has done. Called by main.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/daemon.h"
#include "initiator/daemon/links.h"

static int fail(const char *what, const char *where, int err)
{
	fprintf(stderr, "iserd: %s %s: %s\n", what, where, strerror(-err));
	return EXIT_FAILED;
}

/* ---- directories ---- */

/* The directory and those above it, where they are missing. */
static int make_directories(const char *path, mode_t mode)
{
	char upper[PATH_MAX];

	if ((size_t)snprintf(upper, sizeof(upper), "%s", path) >= sizeof(upper))
		return -ENAMETOOLONG;
	for (char *slash = strchr(upper + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(upper, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

/* What the kernel tells of devices are paths without links: ours must compare with them. */
static int resolve(const char **path)
{
	char real[PATH_MAX];

	if (!realpath(*path, real))
		return -errno;
	*path = alloc_string(real);
	return *path ? 0 : -ENOMEM;
}

static int make_below_runtime(const struct daemon *d, const char *name, mode_t mode)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", d->config.runtime_directory, name) >=
		sizeof(path))
		return -ENAMETOOLONG;
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

static int start_directories(struct daemon *d)
{
	struct daemon_config *c = &d->config;
	const char *given[] = {c->runtime_directory, c->state_directory};
	int err;

	c->runtime_directory = c->state_directory = NULL;
	err = make_directories(given[0], 0755);
	if (err == 0)
		err = resolve(&given[0]);
	if (err < 0)
		return fail("runtime directory", given[0], err);
	c->runtime_directory = given[0];
	err = make_below_runtime(d, "devices", 0700);
	if (err == 0)
		err = make_below_runtime(d, "by-path", 0755);
	if (err < 0)
		return fail("cannot make directories below", given[0], err);
	err = make_directories(given[1], 0700);
	if (err == 0)
		err = resolve(&given[1]);
	if (err < 0)
		return fail("state directory", given[1], err);
	c->state_directory = given[1];
	return EXIT_OK;
}

/* ---- one daemon per runtime directory ---- */

static void pid_path(const struct daemon *d, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/iserd.pid", d->config.runtime_directory);
}

/* A daemon that ends removes the file: a lock on one that is no longer there is worth nothing. */
static bool is_still_there(int fd, const char *path)
{
	struct stat ours, theirs;

	return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
	       ours.st_dev == theirs.st_dev;
}

static int refuse_second(const struct daemon *d, int fd)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	fprintf(stderr,
		"iserd: another iserd (process %s) runs with %s; end it, or give this one its own "
		"--runtime-dir\n",
		pid, d->config.runtime_directory);
	close(fd);
	return EXIT_EXISTS;
}

static int start_pid_file(struct daemon *d)
{
	char path[PATH_MAX], pid[24];
	int fd = -1, length = snprintf(pid, sizeof(pid), "%d\n", getpid());

	pid_path(d, path);
	while (fd < 0) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0)
			return fail("cannot write", path, -errno);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? refuse_second(d, fd)
						    : fail("cannot lock", path, -errno);
		if (!is_still_there(fd, path)) {
			close(fd);
			fd = -1;
		}
	}
	d->pid_file = fd;
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)length, 0) != length)
		return fail("cannot write", path, -errno);
	return EXIT_OK;
}

/* ---- what is left of a daemon that was killed ---- */

static int clean(struct daemon *d)
{
	unsigned left = 0;

#ifdef HAVE_FUSE
	left = export_fuse_clean(d->config.runtime_directory);
#endif
	links_clean(d->config.runtime_directory);
	if (left)
		log_warning(
			"start", "devices of an iserd that was killed are taken away: %u", left);
	return EXIT_OK;
}

/* ---- the rest ---- */

static int start_records(struct daemon *d)
{
	char why[RECORDS_WHY_SIZE];

	if (records_open(d->config.state_directory, &d->records, why) == 0)
		return EXIT_OK;
	fprintf(stderr, "iserd: %s\n", why);
	return EXIT_FAILED;
}

static int start_movers(struct daemon *d)
{
	int err = daemon_movers_new(d->loop, &d->config, &d->movers);

	return err < 0 ? fail("cannot make", "movers", err) : EXIT_OK;
}

static int start_control(struct daemon *d)
{
	char path[PATH_MAX];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/iserd.sock", d->config.runtime_directory) >=
		sizeof(path))
		return fail("runtime directory", d->config.runtime_directory, -ENAMETOOLONG);
	err = control_server_new(d->loop, path, daemon_control, d, &d->control);
	return err < 0 ? fail("control socket", path, err) : EXIT_OK;
}

int daemon_start(struct daemon *d)
{
	static int (*const steps[])(struct daemon * d) = {
		start_directories,
		start_pid_file,
		clean,
		start_records,
		start_movers,
		start_control,
	};
	int status = EXIT_OK;

	d->started_ns = loop_now(d->loop);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && status == EXIT_OK; i++)
		status = steps[i](d);
	if (status != EXIT_OK)
		return status;
	log_info("start", "this host is %s", records_initiator_name(d->records));
	autologin_start(d);
	return EXIT_OK;
}

void daemon_free(struct daemon *d)
{
	char path[PATH_MAX];

	autologin_stop(d);
	control_server_free(d->control);
	daemon_movers_free(d->movers);
	records_close(d->records);
	loop_timer_cancel(&d->stop_timer);
	loop_free(d->loop);
	if (d->pid_file >= 0) {
		pid_path(d, path);
		unlink(path);
		close(d->pid_file);
	}
	alloc_free((char *)d->config.runtime_directory);
	alloc_free((char *)d->config.state_directory);
}
