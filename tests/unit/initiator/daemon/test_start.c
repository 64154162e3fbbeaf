/* The start of iserd and its end: directories, the lock, records, the socket; and what is said when
 * one of them cannot be. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include <ftw.h>

#undef fail /* cmocka.h has one, too */
#include "initiator/daemon/start.c"

static struct {
	unsigned cleaned, autologins;
	int movers, control;
	char socket[PATH_MAX];
} it;

int daemon_movers_new(
	struct loop *loop, const struct daemon_config *config, struct daemon_movers **ret)
{
	(void)loop;
	(void)config;
	*ret = NULL;
	return it.movers;
}

void daemon_movers_free(struct daemon_movers *m)
{
	(void)m;
}

int control_server_new(struct loop *l, const char *path, control_handler *handler, void *owner,
	struct control_server **ret)
{
	(void)l;
	(void)owner;
	(void)handler;
	*ret = NULL;
	snprintf(it.socket, sizeof(it.socket), "%s", path);
	return it.control;
}

void control_server_free(struct control_server *s)
{
	(void)s;
}

void daemon_control(void *owner, struct control_request *r, struct json_object *json)
{
	(void)owner;
	(void)r;
	(void)json;
}

void links_clean(const char *runtime)
{
	(void)runtime;
	it.cleaned++;
}

unsigned export_fuse_clean(const char *runtime)
{
	(void)runtime;
	return 2;
}

void autologin_start(struct daemon *d)
{
	(void)d;
	it.autologins++;
}

void autologin_stop(struct daemon *d)
{
	(void)d;
}

static char root[64], runtime[128], states[128], said[600];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	logged[0] = '\0';
	log_set_sink(kit_log, NULL);
	strcpy(root, "/tmp/iseran-start-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(runtime, sizeof(runtime), "%s/run/a", root);
	snprintf(states, sizeof(states), "%s/state/b/c", root);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL);
	assert_int_equal(alloc_live(), 0);
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* `nth`: that allocation fails; 0: none. */
static int start_failing(struct daemon *d, unsigned nth)
{
	FILE *err = stderr;
	char *text = NULL;
	size_t size;
	int status;

	*d = (struct daemon){.pid_file = -1};
	d->config.runtime_directory = runtime;
	d->config.state_directory = states;
	d->loop = loop_new(NULL);
	list_init(&d->sessions);
	list_init(&d->autologins);
	stderr = open_memstream(&text, &size);
	alloc_fail_nth(nth);
	status = daemon_start(d);
	alloc_fail_nth(0);
	fclose(stderr);
	stderr = err;
	snprintf(said, sizeof(said), "%s", text);
	free(text);
	return status;
}

static int start(struct daemon *d)
{
	return start_failing(d, 0);
}

static mode_t mode_of(const char *below)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", root, below);
	assert_int_equal(0, stat(path, &st));
	return st.st_mode & 07777;
}

static void directories_are_made_and_ours_alone(void **state)
{
	struct daemon d;
	char path[256], text[32] = "";
	FILE *f;

	(void)state;
	umask(022);
	assert_int_equal(EXIT_OK, start(&d));
	assert_string_equal("", said);
	assert_int_equal(0700, mode_of("run/a/devices"));
	assert_int_equal(0755, mode_of("run/a/by-path"));
	assert_int_equal(0700, mode_of("state/b/c"));
	assert_int_equal(1, it.autologins);
	assert_int_equal(1, it.cleaned);
	assert_non_null(strstr(logged, "devices of an iserd that was killed are taken away: 2"));
	snprintf(path, sizeof(path), "%s/iserd.sock", runtime);
	assert_string_equal(path, it.socket);
	snprintf(path, sizeof(path), "%s/iserd.pid", runtime);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_int_equal(getpid(), atoi(text));
	daemon_free(&d);
	assert_int_equal(-1, access(path, F_OK));
}

static void a_second_daemon_is_refused_and_harms_nothing(void **state)
{
	struct daemon first, second;
	char path[256];

	(void)state;
	assert_int_equal(EXIT_OK, start(&first));
	assert_int_equal(EXIT_EXISTS, start(&second));
	assert_non_null(strstr(said, "iserd: another iserd (process "));
	assert_non_null(strstr(said, "give this one its own --runtime-dir"));
	daemon_free(&second);
	snprintf(path, sizeof(path), "%s/iserd.pid", runtime);
	assert_int_equal(0, access(path, F_OK));
	assert_int_equal(1, it.cleaned); /* the first one's devices stay */
	daemon_free(&first);
}

static void the_lock_of_one_that_was_killed_is_taken_over(void **state)
{
	struct daemon d;
	char path[256];
	FILE *f;

	(void)state;
	assert_int_equal(0, make_directories(runtime, 0755));
	snprintf(path, sizeof(path), "%s/iserd.pid", runtime);
	f = fopen(path, "w");
	fputs("99999999\n", f);
	fclose(f);
	assert_int_equal(EXIT_OK, start(&d));
	daemon_free(&d);
}

static void links_in_the_directory_are_resolved(void **state)
{
	struct daemon d;
	char real[128];

	(void)state;
	snprintf(real, sizeof(real), "%s/real", root);
	assert_int_equal(0, mkdir(real, 0755));
	snprintf(runtime, sizeof(runtime), "%s/link", root);
	assert_int_equal(0, symlink(real, runtime));
	assert_int_equal(EXIT_OK, start(&d));
	assert_string_equal(real, d.config.runtime_directory);
	daemon_free(&d);
}

static void what_cannot_be_made_is_named(void **state)
{
	struct daemon d;
	char path[256];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/state", root);
	f = fopen(path, "w");
	fclose(f);
	assert_int_equal(EXIT_FAILED, start(&d));
	assert_non_null(strstr(said, "iserd: state directory /tmp/iseran-start-"));
	assert_non_null(strstr(said, "state/b/c: Not a directory\n"));
	daemon_free(&d);
	snprintf(path, sizeof(path), "%s/run/a/iserd.pid", root);
	assert_int_equal(-1, access(path, F_OK));
}

static void movers_and_socket_end_the_start(void **state)
{
	struct daemon d;

	(void)state;
	it.movers = -ENOMEM;
	assert_int_equal(EXIT_FAILED, start(&d));
	assert_string_equal("iserd: cannot make movers: Cannot allocate memory\n", said);
	daemon_free(&d);
	it.movers = 0;
	it.control = -EADDRINUSE;
	assert_int_equal(EXIT_FAILED, start(&d));
	assert_non_null(strstr(said, "iserd.sock: Address already in use\n"));
	assert_int_equal(0, it.autologins);
	daemon_free(&d);
}

static void every_failed_allocation_is_one_line(void **state)
{
	struct daemon d;
	unsigned n = 1;
	int status;

	(void)state;
	do {
		status = start_failing(&d, n++);
		if (status != EXIT_OK)
			assert_memory_equal("iserd: ", said, 7);
		daemon_free(&d);
	} while (status != EXIT_OK && n < 100);
	assert_int_equal(EXIT_OK, status);
	assert_true(n > 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(directories_are_made_and_ours_alone),
		TEST(a_second_daemon_is_refused_and_harms_nothing),
		TEST(the_lock_of_one_that_was_killed_is_taken_over),
		TEST(links_in_the_directory_are_resolved),
		TEST(what_cannot_be_made_is_named),
		TEST(movers_and_socket_end_the_start),
		TEST(every_failed_allocation_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
