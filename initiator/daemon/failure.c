/* What became of a login or a discovery, for a person and for scripts. Called by discover.c,
 * sessions.c and jobs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/daemon.h"

static const struct {
	int error;
	enum exit_status status;
	const char *line; /* NULL: what the session says is all there is to say */
} rows[] = {
	{ECONNREFUSED, EXIT_UNREACHABLE, "connection refused; is a target listening on that port?"},
	{EHOSTUNREACH, EXIT_UNREACHABLE,
		"no route to that host; is the address right, and the network up?"},
	{ENETUNREACH, EXIT_UNREACHABLE,
		"no route to that network; is the address right, and the network up?"},
	{ECONNRESET, EXIT_UNREACHABLE, NULL},
	{ENOTCONN, EXIT_UNREACHABLE, NULL},
	{EPIPE, EXIT_UNREACHABLE, NULL},
	{ECONNABORTED, EXIT_UNREACHABLE, NULL},
	{ENXIO, EXIT_UNREACHABLE, NULL},
	{ETIMEDOUT, EXIT_TIMED_OUT, NULL},
	{EACCES, EXIT_REFUSED, NULL},
	{EPERM, EXIT_REFUSED, NULL},
	{ENOENT, EXIT_NOT_FOUND, NULL},
	{EEXIST, EXIT_EXISTS, NULL},
	{EINVAL, EXIT_USAGE, NULL},
	{ECANCELED, EXIT_FAILED, "given up, since it was told to"},
	{ESHUTDOWN, EXIT_FAILED, "given up, since it was told to"},
	{ENOMEM, EXIT_FAILED, "no memory"},
};

static const struct {
	unsigned login_status;
	const char *advice;
} advices[] = {
	{LOGIN_AUTHENTICATION_FAILURE, "; see node.session.auth.* of the record"},
	{LOGIN_AUTHORIZATION_FAILURE,
		"; does the target allow the name in initiatorname of the state directory?"},
	{LOGIN_NOT_FOUND, "; discovery shows which targets there are"},
	{LOGIN_TARGET_REMOVED, "; discovery shows which targets there are"},
};

enum exit_status failure_status(int error, unsigned login_status)
{
	(void)login_status; /* the error is made from it: ini_conn_login_errno() */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].error == -error)
			return rows[i].status;
	return EXIT_FAILED;
}

void failure_line(const char *portal, int error, unsigned login_status, const char *why, char *out,
	size_t size)
{
	const char *line = NULL, *advice = "";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].error == -error)
			line = rows[i].line;
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		if (advices[i].login_status == login_status)
			advice = advices[i].advice;
	if (!line)
		line = why && *why ? why : strerror(-error);
	snprintf(out, size, "%s: %s%s", portal, line, advice);
}
