/* Jobs as the daemon's loop sees them: one thread and one answer each, whatever ends it. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "tests/kit/await.h"

#include "initiator/daemon/job.c"

/* job_request.c's and job_run.c's part: what a request reads as, and what the thread does. */
static struct {
	bool refuse;
	int run; /* exit status of the operation; -1: it goes on until it is cancelled */
	void (*resolved)(void *owner, const struct address *address, const char *why);
	void *owner;
	_Atomic unsigned threads;
} it;

int resolve_start(struct daemon *d, const char *host, unsigned port,
	void (*done)(void *owner, const struct address *address, const char *why), void *owner)
{
	(void)d;
	(void)host;
	(void)port;
	it.resolved = done;
	it.owner = owner;
	return 0;
}

bool job_request_read(struct job *j, struct control_request *r, struct json_object *json)
{
	(void)j;
	(void)json;
	if (it.refuse)
		control_fail(r, STATUS_USAGE, "no such operation");
	return !it.refuse;
}

void job_cancelled(struct loop_message *m)
{
	struct job *j = container_of(m, struct job, cancel);

	j->status = STATUS_FAILED;
	strcpy(j->line, "given up");
	loop_stop(j->loop);
}

void *job_run(void *arg)
{
	struct job *j = arg;

	it.threads++;
	if (it.run < 0) {
		atomic_store(&j->total, 100);
		atomic_store(&j->done, 40);
		loop_run(j->loop);
	} else if (it.run == STATUS_OK) {
		j->result = json_object_new_object();
		put_number(j->result, "bytes", 512);
	} else {
		j->status = it.run;
		strcpy(j->line, "LUN 3: it is write protected");
	}
	loop_post(j->daemon->loop, &j->ended_message);
	return NULL;
}

static void begin(struct daemon *d, struct control_request *r, int run)
{
	it.refuse = false;
	it.run = run;
	it.resolved = NULL;
	it.threads = 0;
	*r = request("{\"operation\": \"read\"}");
	job_handle_lun(d, r, r->json);
}

static void address_known(void)
{
	static const struct address nowhere;

	it.resolved(it.owner, &nowhere, NULL);
}

static void wait_for(struct daemon *d, const struct control_request *r)
{
	AWAIT(d->loop, r->answered);
	assert_int_equal(1, r->answered);
}

static void a_job_that_is_done_gives_its_result(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, STATUS_OK);
	assert_int_equal(1, k->d.busy);
	address_known();
	wait_for(&k->d, &r);
	assert_string_equal("{\"bytes\":512}", answer(&r));
	assert_int_equal(0, k->d.busy);
	assert_null(k->d.jobs[0]);
	request_free(&r);
}

static void a_job_that_fails_says_why(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, STATUS_ACCESS);
	address_known();
	wait_for(&k->d, &r);
	assert_int_equal(STATUS_ACCESS, r.status);
	assert_string_equal("LUN 3: it is write protected", r.error);
	request_free(&r);
}

static void a_wrong_request_takes_nothing(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");

	it.refuse = true;
	job_handle_lun(&k->d, &r, r.json);
	assert_int_equal(STATUS_USAGE, r.status);
	assert_int_equal(0, k->d.busy);
	assert_null(k->d.jobs[0]);
	request_free(&r);
}

static void an_address_that_is_not_found_starts_no_thread(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	settled_count = 0;
	begin(&k->d, &r, STATUS_OK);
	it.resolved(it.owner, NULL, "nowhere.example: unknown name");
	assert_int_equal(STATUS_UNREACHABLE, r.status);
	assert_string_equal("nowhere.example: unknown name", r.error);
	assert_int_equal(0, it.threads);
	assert_int_equal(1, settled_count);
	request_free(&r);
}

static void progress_is_told_four_times_a_second(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, -1);
	address_known();
	AWAIT_ONLY(atomic_load(&k->d.jobs[0]->done));
	loop_advance(k->d.loop, LOOP_NS_PER_S);
	assert_int_equal(4, r.told);
	assert_string_equal("{\"done\":40,\"total\":100}", r.progress[3]);
	jobs_stop(&k->d);
	wait_for(&k->d, &r);
	assert_string_equal("given up", r.error);
	loop_advance(k->d.loop, LOOP_NS_PER_S);
	assert_int_equal(4, r.told);
	request_free(&r);
}

static void a_client_that_goes_away_cancels_its_job(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, -1);
	address_known();
	r.closed(r.closed_arg);
	r.closed(r.closed_arg); /* once is enough */
	wait_for(&k->d, &r);
	assert_int_equal(0, k->d.busy);
	request_free(&r);

	/* and before its address is known, it does not begin */
	begin(&k->d, &r, STATUS_OK);
	r.closed(r.closed_arg);
	address_known();
	assert_int_equal(1, r.answered);
	assert_int_equal(STATUS_FAILED, r.status);
	assert_int_equal(0, it.threads);
	request_free(&r);
}

static void each_has_a_place_of_its_own_and_there_are_eight(void **state)
{
	struct control_request r[DAEMON_JOBS_MAX], more;
	void *owners[DAEMON_JOBS_MAX];
	struct kit *k = *state;

	for (unsigned i = 0; i < DAEMON_JOBS_MAX; i++) {
		begin(&k->d, &r[i], STATUS_OK);
		assert_int_equal(i, k->d.jobs[i]->place);
		owners[i] = it.owner;
	}
	begin(&k->d, &more, STATUS_OK);
	assert_int_equal(STATUS_AGAIN, more.status);
	assert_string_equal("8 such jobs are under way already; wait for one to end", more.error);
	request_free(&more);
	k->d.stopping = true; /* none is begun any more */
	it.resolved = job_resolved;
	for (unsigned i = 0; i < DAEMON_JOBS_MAX; i++) {
		it.owner = owners[i];
		address_known();
		assert_int_equal(STATUS_FAILED, r[i].status);
		request_free(&r[i]);
	}
	assert_int_equal(0, k->d.busy);
}

static void without_memory_it_is_refused(void **state)
{
	struct kit *k = *state;

	for (unsigned n = 1; n <= 2; n++) { /* the job; its loop */
		struct control_request r = request("{}");

		it.refuse = false;
		alloc_fail_nth(n);
		job_handle_lun(&k->d, &r, r.json);
		alloc_fail_nth(0);
		assert_int_equal(STATUS_NO_MEMORY, r.status);
		assert_int_equal(0, k->d.busy);
		request_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(a_job_that_is_done_gives_its_result),
		KIT_TEST(a_job_that_fails_says_why),
		KIT_TEST(a_wrong_request_takes_nothing),
		KIT_TEST(an_address_that_is_not_found_starts_no_thread),
		KIT_TEST(progress_is_told_four_times_a_second),
		KIT_TEST(a_client_that_goes_away_cancels_its_job),
		KIT_TEST(each_has_a_place_of_its_own_and_there_are_eight),
		KIT_TEST(without_memory_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
