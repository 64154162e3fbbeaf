/* The start of isertd and its end (target/daemon/start.c): portals that are listened on, the
 * control socket, files; each step that fails is one line, and what was done before is undone. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/target/target_kit.h"

/* cmocka.h has one, too. */
#undef fail
#include "target/daemon/start.c"

/* Of the files that are not under test here: */
static enum listener_verdict match_nothing(const uint8_t *bytes, size_t length)
{
	(void)bytes, (void)length;
	return LISTENER_NO;
}

static int adopt_nothing(struct worker *w, int fd)
{
	(void)w;
	close(fd);
	return 0;
}

const struct portal_protocol daemon_protocols[DAEMON_PROTOCOLS] = {
	{"a", match_nothing, adopt_nothing},
	{"b", match_nothing, adopt_nothing},
};

int movers_new(struct daemon_worker *w, const struct config *c)
{
	(void)w, (void)c;
	return 0;
}

int rdma_portals_new(struct daemon *isertd)
{
	(void)isertd;
	return 0;
}

void rdma_portals_free(struct daemon *isertd)
{
	(void)isertd;
}

int store_open(const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	return kit_open(row, ret, why, why_size);
}

bool quick_wanted(const struct daemon_options *o)
{
	return o->luns.count;
}

void daemon_control(void *owner, struct control_request *r, struct json_object *json)
{
	(void)owner, (void)json;
	control_reply(r, NULL);
}

static struct {
	struct daemon daemon;
	char directory[32], control[64], ports[64];
	char *errors;
	int status;
} world;

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	log_set_sink(kit_silence, NULL);
	strcpy(world.directory, "/tmp/iseran-start-XXXXXX");
	assert_non_null(mkdtemp(world.directory));
	snprintf(world.control, sizeof(world.control), "%s/socket", world.directory);
	snprintf(world.ports, sizeof(world.ports), "%s/ports", world.directory);
	return 0;
}

static void end(void)
{
	daemon_free(&world.daemon);
	free(world.errors);
	world.errors = NULL;
	world.daemon = (struct daemon){0};
}

static int teardown(void **state)
{
	char lock[80];

	(void)state;
	end();
	snprintf(lock, sizeof(lock), "%s.lock", world.control);
	unlink(lock);
	log_set_sink(NULL, NULL);
	/* Nothing is left, but in it was what was the test's own. */
	return rmdir(world.directory) == 0 && alloc_live() == 0 ? 0 : -1;
}

static void prepare(const char *text)
{
	world.daemon.config = kit_config(text);
	world.daemon.loop = loop_new(NULL);
	world.daemon.options.control = world.control;
	world.daemon.options.port_file = world.ports;
}

/* One step of it, or all; what it says on stderr is kept. */
static void run(int (*step)(struct daemon *isertd))
{
	FILE *was = stderr;
	size_t size;

	free(world.errors);
	stderr = open_memstream(&world.errors, &size);
	world.status = step(&world.daemon);
	fclose(stderr);
	stderr = was;
}

static void start(const char *text)
{
	prepare(text);
	run(daemon_start);
}

static bool says(const char *text)
{
	const char *end_of_line = strchr(world.errors, '\n');

	/* One line. */
	return strstr(world.errors, text) && end_of_line && !end_of_line[1];
}

static const char two_portals[] = "loops: 2\nportals: ['127.0.0.1:0', '127.0.0.1:0']\n"
				  "arena_size: 16M\n"
				  "targets:\n- name: " KIT_TARGET "\n"
				  "  luns: [{lun: 0, backend: memory, size: 1M}]\n";

static void it_listens_where_it_says(void **state)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned ports[2] = {0};
	FILE *f;

	(void)state;
	start(two_portals);
	assert_int_equal(world.status, EXIT_OK);
	assert_string_equal(world.errors, "");
	assert_int_equal(world.daemon.worker_count, 2);
	assert_true(world.daemon.workers[0].started && world.daemon.workers[1].started);
	f = fopen(world.ports, "re");
	assert_int_equal(fscanf(f, "%u %u", &ports[0], &ports[1]), 2);
	fclose(f);
	for (unsigned i = 0; i < 2; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		char text[32];

		sa.sin_port = htons((uint16_t)ports[i]);
		assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
		close(fd);
		/* As SendTargets will tell it. */
		snprintf(text, sizeof(text), "127.0.0.1:%u", ports[i]);
		assert_string_equal(world.daemon.targets->portals[i], text);
	}
	assert_int_equal(access(world.control, F_OK), 0);
	assert_string_equal(daemon_control_path(&world.daemon), world.control);
	end();
	assert_int_equal(access(world.ports, F_OK), -1);
	assert_int_equal(access(world.control, F_OK), -1);
}

static void a_portal_that_cannot_be_is_one_line(void **state)
{
	(void)state;
	start("portals: 203.0.113.1:0\nloops: 1\ntargets: []\n");
	assert_int_equal(world.status, EXIT_FAILED);
	assert_true(says("isertd: portal 203.0.113.1:0: the address is not one of this host's"));
	end();
	start("portals: no.such.host.invalid\nloops: 1\ntargets: []\n");
	assert_int_equal(world.status, EXIT_USAGE);
	assert_true(says("isertd: portal no.such.host.invalid: "));
}

static void a_port_in_use_is_one_line(void **state)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[128];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &length), 0);
	snprintf(text, sizeof(text), "portals: 127.0.0.1:%u\nloops: 1\ntargets: []\n",
		ntohs(sa.sin_port));
	start(text);
	close(fd);
	assert_int_equal(world.status, EXIT_FAILED);
	assert_true(says("the port is in use; end the other program, or name another port"));
	assert_int_equal(access(world.ports, F_OK), -1);
}

static void an_image_that_cannot_be_opened_ends_the_start(void **state)
{
	(void)state;
	start("loops: 1\ntargets:\n- name: " KIT_TARGET "\n"
	      "  luns:\n  - {lun: 0, path: /a}\n"); /* the kit's stores need a size */
	assert_int_equal(world.status, EXIT_USAGE);
	assert_true(says("isertd: f:5: "));
}

static void a_second_daemon_is_told_of_the_first(void **state)
{
	struct daemon first;

	(void)state;
	start("portals: 127.0.0.1:0\nloops: 1\ntargets: []\n");
	assert_int_equal(world.status, EXIT_OK);
	first = world.daemon;
	world.daemon = (struct daemon){0};
	start("portals: 127.0.0.1:0\nloops: 1\ntargets: []\n");
	assert_int_equal(world.status, EXIT_FAILED);
	assert_true(says("isertd: another isertd answers at "));
	end();
	/* The first one's file of ports is still its own. */
	assert_int_equal(access(world.control, F_OK), 0);
	assert_int_equal(access(world.ports, F_OK), 0);
	world.daemon = first;
}

/* Cut to what an address holds it would be a socket that nobody looks for. */
static void a_control_path_longer_than_an_address_is_refused(void **state)
{
	char path[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/%0120d", world.directory, 0);
	prepare("loops: 1\ntargets: []\n");
	world.daemon.options.control = path;
	run(start_control);
	assert_int_equal(world.status, EXIT_FAILED);
	assert_true(says("File name too long"));
	assert_string_equal(daemon_control_path(&world.daemon), path);
}

static void any_failed_allocation_is_one_exit_status(void **state)
{
	(void)state;
	world.status = EXIT_FAILED;
	for (unsigned long n = 1; n < 60 && world.status != EXIT_OK; n++) {
		prepare("portals: 127.0.0.1:0\nloops: 1\narena_size: 16M\ntargets: []\n");
		alloc_fail_nth(n);
		run(daemon_start);
		alloc_fail_nth(0);
		assert_true(world.status == EXIT_OK || says("Cannot allocate memory"));
		end();
	}
	assert_int_equal(world.status, EXIT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_listens_where_it_says),
		TEST(a_portal_that_cannot_be_is_one_line),
		TEST(a_port_in_use_is_one_line),
		TEST(an_image_that_cannot_be_opened_ends_the_start),
		TEST(a_second_daemon_is_told_of_the_first),
		TEST(a_control_path_longer_than_an_address_is_refused),
		TEST(any_failed_allocation_is_one_exit_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
