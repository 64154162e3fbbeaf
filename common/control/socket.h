/* The daemon's Unix socket and the lock beside it. Private to this room. */
#pragma once

#include <sys/un.h>

struct control_socket {
	int fd, lock_fd; /* 0: not open */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* `s` is zeroed. Takes the lock file `path`.lock, replaces the socket of a dead daemon, and listens
 * with mode 0660. -EADDRINUSE: a live daemon has it. -ENOTSOCK: something else is at `path`. Closed
 * by control_socket_close(), also on failure. */
int control_socket_open(struct control_socket *s, const char *path);
void control_socket_close(struct control_socket *s); /* and unlinks what it has bound */
