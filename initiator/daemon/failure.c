/* What became of a login or a discovery, for a person and for scripts. Called by discover.c,
 * sessions.c and jobs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/daemon.h"

static const struct {
	int error;
	enum ini_status status;
	const char *line; /* NULL: what the session says is all there is to say */
} rows[] = {
	{ECONNREFUSED, STATUS_UNREACHABLE,
		"connection refused; is a target listening on that port?"},
	{EHOSTUNREACH, STATUS_UNREACHABLE,
		"no route to that host; is the address right, and the network up?"},
	{ENETUNREACH, STATUS_UNREACHABLE,
		"no route to that network; is the address right, and the network up?"},
	{ECONNRESET, STATUS_UNREACHABLE, NULL},
	{ENOTCONN, STATUS_UNREACHABLE, NULL},
	{EPIPE, STATUS_UNREACHABLE, NULL},
	{ECONNABORTED, STATUS_UNREACHABLE, NULL},
	{ENXIO, STATUS_UNREACHABLE, NULL},
	{ENODEV, STATUS_NO_TRANSPORT,
		"no RDMA device routes there; provider auto or softiwarp needs none"},
	{ETIMEDOUT, STATUS_TIMED_OUT, NULL},
	{EACCES, STATUS_AUTH, NULL},
	{EPERM, STATUS_AUTH, NULL},
	{ENOENT, STATUS_LOGIN_FATAL, NULL},
	{EEXIST, STATUS_EXISTS, NULL},
	{EINVAL, STATUS_USAGE, NULL},
	{ECANCELED, STATUS_FAILED, "given up, since it was told to"},
	{ESHUTDOWN, STATUS_FAILED, "given up, since it was told to"},
	{ENOMEM, STATUS_NO_MEMORY, "no memory"},
	{EAGAIN, STATUS_NO_MEMORY,
		"too little memory may be locked; iserd's log has how much, and what to set"},
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

static size_t find_row(int error)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) && rows[i].error != -error)
		i++;
	return i;
}

enum ini_status failure_status(int error, unsigned login_status)
{
	size_t i = find_row(error);

	(void)login_status; /* the error is made from it: ini_conn_login_errno() */
	return i < ARRAY_SIZE(rows) ? rows[i].status : STATUS_LOGIN;
}

/* What else to look at. An error that has no row is what the peer said, or how it said it. */
static const char *advice_for(int error, unsigned login_status)
{
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		if (advices[i].login_status == login_status)
			return advices[i].advice;
	if (error == -ETIMEDOUT)
		return "; is that an iSCSI or iSER portal, and does nothing in between drop "
		       "packets?";
	if (!login_status && find_row(error) == ARRAY_SIZE(rows))
		return "; is that an iSCSI or iSER portal?";
	return "";
}

void failure_line(const char *portal, int error, unsigned login_status, const char *why, char *out,
	size_t size)
{
	size_t i = find_row(error);
	const char *line = i < ARRAY_SIZE(rows) ? rows[i].line : NULL;

	if (!line)
		line = why && *why ? why : strerror(-error);
	snprintf(out, size, "%s: %s%s", portal, line, advice_for(error, login_status));
}
