/* How a tool speaks to its daemon: JSON, one object per line, over a Unix stream socket.
 *
 *     request   {"verb": "login", ...}
 *     replies   {"progress": ...}   any number, then one of
 *               {"ok": true, ...}   or   {"ok": false, "status": <exit_status>, "error": "..."}
 *
 * The server side runs on a loop; the client side blocks. Lines are at most CONTROL_LINE_MAX bytes;
 * a longer or malformed one closes that client. The peer's uid (SO_PEERCRED) is checked: root and
 * the daemon's own user may do everything, others what the handler allows. A request may bring one
 * file descriptor with its first byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <json-c/json.h>

struct loop;

#define CONTROL_LINE_MAX (1024 * 1024)
#define CONTROL_CLIENTS_MAX 64

/* ---- daemon ---- */

struct control_server;
struct control_request; /* one request of one client, until it is answered */

/* Called on the loop for each request, which must be answered by control_reply() or control_fail(),
 * now or later. `json` is the request's; it lives until the answer. */
typedef void control_handler(void *owner, struct control_request *r, struct json_object *json);

/* Binds `path` (mode 0660; a stale socket file of a dead daemon is replaced). -EADDRINUSE when a
 * live daemon answers there; other negative errno. */
int control_server_new(struct loop *l, const char *path, control_handler *handler, void *owner,
	struct control_server **ret);
void control_server_free(struct control_server *s); /* unlinks the socket; NULL is allowed */
bool control_request_is_privileged(
	const struct control_request *r); /* root, or the daemon's user */
/* Called if the client goes away before the answer; the request may still be answered (into
 * nothing). */
void control_request_on_close(struct control_request *r, void (*closed)(void *arg), void *arg);
/* The descriptor that came with the request (control_call_fd()): the caller's from now on; -1 if
 * there is none, or it was taken. One that nobody takes is closed with the request. */
int control_request_take_fd(struct control_request *r);
/* Takes over `json` (may be NULL). Adds "ok": true. */
void control_reply(struct control_request *r, struct json_object *json);
void control_progress(struct control_request *r, struct json_object *json);
/* `status` is what the tool ends with: enum exit_status of options.h, for
 * iserd initiator/status.h. */
void control_fail(struct control_request *r, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- tool ---- */

struct control_client;

/* -ECONNREFUSED or -ENOENT: no daemon; -EACCES; other negative errno. */
int control_connect(const char *path, struct control_client **ret);
void control_disconnect(struct control_client *c); /* NULL is allowed */
/* Sends `request` (takes it over), waits for the answer; progress lines go to `progress` (may be
 * NULL). *ret_reply is the answer's object (the caller's, json_object_put()), also when it says ok:
 * false: the function then returns its status (> 0). 0: ok. Negative
 * errno: the daemon went away. */
int control_call(struct control_client *c, struct json_object *request,
	void (*progress)(void *arg, struct json_object *json), void *arg,
	struct json_object **ret_reply);
/* The same, with a descriptor for the daemon (SCM_RIGHTS), which stays the caller's too; -1: none.
 * The daemon thus works on what the person who asks may open, not on what it may open itself. */
int control_call_fd(struct control_client *c, struct json_object *request, int fd,
	void (*progress)(void *arg, struct json_object *json), void *arg,
	struct json_object **ret_reply);
