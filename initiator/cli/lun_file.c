/* The file of -m lun, see iseradm.h. Called by mode_lun.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initiator/cli/iseradm.h"

#define COPY_SIZE (256 * 1024)

/* Without a name, so that it is gone however we end. */
static int make_temporary(void)
{
	const char *directory = getenv("TMPDIR");
	int fd;

	if (!directory || !*directory)
		directory = "/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		tool_fail(STATUS_FAILED,
			"%s: no temporary file can be made: %s; --file FILE needs none", directory,
			strerror(errno));
	return fd;
}

static int write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		length -= (size_t)n;
	}
	return 0;
}

static int copy(int from, int to)
{
	char *data = malloc(COPY_SIZE);
	ssize_t n = 1;
	int rc = data ? 0 : -ENOMEM;

	while (rc == 0 && n > 0) {
		n = read(from, data, COPY_SIZE);
		if (n > 0)
			rc = write_all(to, data, (size_t)n);
		else if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			rc = -errno;
	}
	free(data);
	return rc;
}

/* Whether iserd may have the descriptor as it is. */
static bool is_plain(const struct lun_file *f, int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (fstat(fd, &st) < 0 || flags < 0 || (f->write && flags & O_APPEND))
		return false;
	return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode);
}

static int stand_in(struct lun_file *f, int stream)
{
	int rc = 0;

	if (isatty(stream))
		return tool_fail(STATUS_USAGE,
			"%s is a terminal; --file FILE, or a redirection, %s",
			f->write ? "standard output" : "standard input",
			f->write ? "takes the data" : "has the data");
	f->stream = stream;
	f->fd = make_temporary();
	if (f->fd < 0)
		return STATUS_FAILED;
	if (!f->write)
		rc = copy(stream, f->fd);
	if (rc == 0 && lseek(f->fd, 0, SEEK_SET) == 0)
		return STATUS_OK;
	return tool_fail(STATUS_FAILED, "%s: %s", f->path ? f->path : "standard input",
		strerror(rc < 0 ? -rc : errno));
}

/* What is there is emptied by iserd, once it knows that it has something to write. */
static int open_path(struct lun_file *f)
{
	int flags = (f->write ? O_RDWR : O_RDONLY) | O_CLOEXEC;
	int fd = open(f->path, flags);
	struct stat st;

	if (fd < 0 && errno == ENOENT && f->write) {
		fd = open(f->path, flags | O_CREAT | O_EXCL, 0666);
		f->created = fd >= 0;
	}
	if (fd < 0)
		return tool_fail(errno == EACCES ? STATUS_ACCESS : STATUS_USAGE, "%s: %s", f->path,
			strerror(errno));
	f->fd = fd;
	f->truncate = f->write;
	if (is_plain(f, fd))
		return STATUS_OK;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return tool_fail(STATUS_USAGE, "%s: it is a directory; a file is needed", f->path);
	return stand_in(f, fd);
}

int lun_file_open(struct lun_file *f, const char *path, bool write)
{
	int stream = write ? STDOUT_FILENO : STDIN_FILENO;

	*f = (struct lun_file){.path = path, .write = write, .fd = -1, .stream = -1};
	if (path && strcmp(path, "-") != 0)
		return open_path(f);
	f->path = NULL;
	if (!is_plain(f, stream))
		return stand_in(f, stream);
	f->fd = fcntl(stream, F_DUPFD_CLOEXEC, 3);
	return f->fd < 0 ? tool_fail(STATUS_FAILED, "%s", strerror(errno)) : STATUS_OK;
}

int lun_file_close(struct lun_file *f, int status)
{
	int rc = 0;

	if (status == STATUS_OK && f->write && f->stream >= 0) {
		rc = lseek(f->fd, 0, SEEK_SET) < 0 ? -errno : copy(f->fd, f->stream);
		if (rc < 0)
			status = tool_fail(STATUS_FAILED, "%s: %s",
				f->path ? f->path : "standard output", strerror(-rc));
	}
	if (f->fd >= 0)
		close(f->fd);
	if (f->stream > STDERR_FILENO)
		close(f->stream);
	if (status != STATUS_OK && f->created) /* then it has a path */
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): see above */
		unlink(f->path);
	return status;
}
