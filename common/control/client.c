/* The tool's end of the control socket: it blocks, one request at a time. Called by isertadm's and
 * iseradm's verbs. */
#include "common/control/control.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/options.h"
#include "common/base/sys.h"
#include "common/control/lines.h"

struct control_client {
	int fd;
	struct lines input;
};

int control_connect(const char *path, struct control_client **ret)
{
	struct control_client *c;
	struct sockaddr_un a;
	int rc = control_address(path, &a);

	if (rc < 0)
		return rc;
	c = alloc_zeroed(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || sys_connect(c->fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
		rc = -errno;
		goto fail;
	}
	*ret = c;
	return 0;
fail:
	control_disconnect(c);
	return rc;
}

void control_disconnect(struct control_client *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	lines_free(&c->input);
	alloc_free(c);
}

static int client_send(struct control_client *c, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = sys_send(c->fd, text, length, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

/* The first byte, with the descriptor: the kernel delivers both together. */
static int client_send_first(struct control_client *c, const char *text, int fd)
{
	union {
		struct cmsghdr header; /* for its alignment */
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec vector = {.iov_base = (char *)text, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	control.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	do
		n = sys_sendmsg(c->fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int client_send_request(struct control_client *c, struct json_object *request, int fd)
{
	size_t length;
	const char *text = lines_print(request, &length);
	int rc;

	if (!text)
		return -ENOMEM;
	if (length >= CONTROL_LINE_MAX)
		return -EMSGSIZE;
	if (fd >= 0) {
		rc = client_send_first(c, text, fd);
		if (rc < 0)
			return rc;
		text++;
		length--;
	}
	rc = client_send(c, text, length);
	return rc < 0 ? rc : client_send(c, "\n", 1);
}

/* Waits for the next line. */
static int client_receive(struct control_client *c, struct json_object **ret)
{
	char bytes[16384];
	ssize_t n;
	int rc;

	while ((rc = lines_take(&c->input, ret)) == 0) {
		n = sys_recv(c->fd, bytes, sizeof(bytes), 0);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			rc = lines_append(
				&c->input, bytes, (size_t)n, CONTROL_LINE_MAX + sizeof(bytes));
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* What the last line says: 0, or the status to exit with. */
static int reply_status(struct json_object *reply, struct json_object *ok)
{
	struct json_object *status;
	int value;

	if (json_object_get_boolean(ok))
		return 0;
	if (!json_object_object_get_ex(reply, "status", &status))
		return EXIT_FAILED;
	value = json_object_get_int(status);
	return value > 0 ? value : EXIT_FAILED;
}

/* Reads lines until the answer. */
static int client_wait_reply(struct control_client *c,
	void (*progress)(void *arg, struct json_object *json), void *arg,
	struct json_object **ret_reply)
{
	struct json_object *line, *field;
	int rc;

	while ((rc = client_receive(c, &line)) > 0) {
		if (json_object_object_get_ex(line, "ok", &field)) {
			*ret_reply = line;
			return reply_status(line, field);
		}
		if (progress && json_object_object_get_ex(line, "progress", &field))
			progress(arg, field);
		json_object_put(line);
	}
	return rc;
}

int control_call_fd(struct control_client *c, struct json_object *request, int fd,
	void (*progress)(void *arg, struct json_object *json), void *arg,
	struct json_object **ret_reply)
{
	int rc = client_send_request(c, request, fd);

	json_object_put(request);
	return rc < 0 ? rc : client_wait_reply(c, progress, arg, ret_reply);
}

int control_call(struct control_client *c, struct json_object *request,
	void (*progress)(void *arg, struct json_object *json), void *arg,
	struct json_object **ret_reply)
{
	return control_call_fd(c, request, -1, progress, arg, ret_reply);
}
