/* Two daemons that start at once must not both find the socket file stale and unlink each other's:
 * whoever holds the lock file decides alone. The lock dies with its process, the file stays. Called
 * by server.c. */
#include "common/control/socket.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/sys.h"
#include "common/control/lines.h"

#define BACKLOG 16
#define SOCKET_MODE 0660

static int socket_lock(struct control_socket *s, const char *path)
{
	char name[sizeof(s->path) + 8];
	int fd;

	snprintf(name, sizeof(name), "%s.lock", path);
	fd = sys_open(name, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	s->lock_fd = fd;
	if (sys_flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	return 0;
}

/* Does anyone answer at the address? A full backlog (EAGAIN) is somebody too. */
static int socket_probe(const struct sockaddr_un *a)
{
	int fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (sys_connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN)
		rc = -EADDRINUSE;
	else if (errno != ECONNREFUSED && errno != ENOENT)
		rc = -errno;
	close(fd);
	return rc;
}

static int socket_clear_stale(const struct sockaddr_un *a)
{
	struct stat st;
	int rc;

	if (lstat(a->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	rc = socket_probe(a);
	if (rc == 0 && unlink(a->sun_path) < 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

static int socket_bind(struct control_socket *s, const struct sockaddr_un *a)
{
	int fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	s->fd = fd;
	if (sys_bind(fd, (const struct sockaddr *)a, sizeof(*a)) < 0)
		return -errno;
	snprintf(s->path, sizeof(s->path), "%s", a->sun_path);
	/* Nobody can connect before listen(), so the mode is in force when it matters. */
	if (chmod(s->path, SOCKET_MODE) < 0 || sys_listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

int control_socket_open(struct control_socket *s, const char *path)
{
	struct sockaddr_un a;
	int rc = control_address(path, &a);

	if (rc == 0)
		rc = socket_lock(s, path);
	if (rc == 0)
		rc = socket_clear_stale(&a);
	if (rc == 0)
		rc = socket_bind(s, &a);
	return rc;
}

void control_socket_close(struct control_socket *s)
{
	if (s->path[0])
		unlink(s->path);
	if (s->fd > 0)
		close(s->fd);
	if (s->lock_fd > 0)
		close(s->lock_fd);
}
