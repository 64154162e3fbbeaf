/* The socket file of a daemon (common/control/socket.c): one daemon at a time, and what a dead one
 * has left. */
#include "tests/unit/common/control/both_ends.h"

#include "common/control/socket.h"

static void second_daemon_is_refused(void **state)
{
	struct fixture *f = *state;
	struct loop *l = loop_new(NULL);
	struct control_server *s = NULL;

	assert_int_equal(-EADDRINUSE, control_server_new(l, f->path, handle, f, &s));
	loop_free(l);
	request_is_answered(state);
}

static void socket_is_not_for_everybody(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(0, stat(f->path, &st));
	assert_int_equal(0660, st.st_mode & 0777);
}

static void stale_socket_is_replaced_but_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct loop *l = loop_new(NULL);
	struct control_server *s = NULL;
	char lock[sizeof(a.sun_path) + 8];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/other", f->directory);
	snprintf(lock, sizeof(lock), "%s.lock", a.sun_path);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&a, sizeof(a)));
	assert_int_equal(0, listen(fd, 1));
	assert_int_equal(-EADDRINUSE, control_server_new(l, a.sun_path, handle, f, &s));
	close(fd);
	assert_int_equal(0, control_server_new(l, a.sun_path, handle, f, &s));
	control_server_free(s);
	assert_int_equal(-1, access(a.sun_path, F_OK));
	fd = open(a.sun_path, O_CREAT | O_RDWR, 0600);
	close(fd);
	s = NULL;
	assert_int_equal(-ENOTSOCK, control_server_new(l, a.sun_path, handle, f, &s));
	assert_int_equal(0, unlink(a.sun_path));
	unlink(lock);
	loop_free(l);
}

static void opened(struct control_socket *s, const char *path, int rc)
{
	*s = (struct control_socket){0};
	assert_int_equal(rc, control_socket_open(s, path));
	control_socket_close(s);
}

static void path_that_cannot_be_is_refused(void **state)
{
	struct fixture *f = *state;
	struct control_socket s;
	char path[200];

	snprintf(path, sizeof(path), "%s/none/socket", f->directory);
	opened(&s, path, -ENOENT);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	opened(&s, path, -ENAMETOOLONG);
}

/* Each call on the way fails: nothing is left but the lock file, and the next start succeeds. */
static void any_failed_call_leaves_no_socket_behind(void **state)
{
	struct fixture *f = *state;
	struct control_socket s;
	char path[80], lock[96];
	int rc = -1;

	rest(f);
	snprintf(path, sizeof(path), "%s/other", f->directory);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	for (unsigned long n = 1; rc; n++) {
		s = (struct control_socket){0};
		sys_fail_nth(n, EIO);
		rc = control_socket_open(&s, path);
		sys_fail_nth(0, 0);
		control_socket_close(&s);
		assert_true(rc == 0 || rc == -EIO);
		assert_int_equal(-1, access(path, F_OK));
		assert_true(n < 20);
	}
	opened(&s, path, 0);
	unlink(lock);
}

/* Somebody's link in a directory that others may write to is not followed. */
static void lock_that_is_a_link_is_not_followed(void **state)
{
	struct fixture *f = *state;
	struct control_socket s;
	char path[80], lock[96], victim[96];

	snprintf(path, sizeof(path), "%s/other", f->directory);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	snprintf(victim, sizeof(victim), "%s/victim", f->directory);
	assert_int_equal(0, symlink(victim, lock));
	opened(&s, path, -ELOOP);
	assert_int_equal(-1, access(victim, F_OK));
	unlink(lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(second_daemon_is_refused),
		TEST(socket_is_not_for_everybody),
		TEST(stale_socket_is_replaced_but_nothing_else),
		TEST(path_that_cannot_be_is_refused),
		TEST(any_failed_call_leaves_no_socket_behind),
		TEST(lock_that_is_a_link_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
