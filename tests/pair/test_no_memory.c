/* The n-th allocation fails, for every n, during a login and the I/O after it: the session gets
 * there in the end or ends with an error; nothing crashes, hangs or leaks, and the target goes on
 * serving. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "tests/kit/stories.h"

#define BLOCKS 64u
#define BLOCK 512u

static bool is_over(void *arg)
{
	struct two_session *s = arg;

	return s->logged_in || s->ended;
}

static struct ini_session_config configuration(struct two_ends *e)
{
	struct ini_session_config c = two_session_config(e, TWO_ENDS_CHAP_IQN);

	c.auth = (struct login_auth){
		.chap_required = true, .name = TWO_ENDS_NAME, .secret = TWO_ENDS_SECRET};
	c.login_timeout_ns = LOOP_NS_PER_S;
	c.replacement_timeout_ns = LOOP_NS_PER_S;
	c.login_attempts = 2;
	return c;
}

static void io_try(struct two_session *s, uint8_t *data)
{
	struct two_task t;

	two_task_write(&t, 0, 0, BLOCKS, data, NULL);
	two_task_submit(s, &t);
	two_task_wait(s, &t);
	two_task_read(&t, 0, 0, BLOCKS, data, NULL);
	two_task_submit(s, &t);
	two_task_wait(s, &t);
}

/* One attempt; true if the failing allocation was among those asked for. */
static bool attempt(struct two_ends *e, unsigned long n, uint8_t *data)
{
	struct ini_session_config c = configuration(e);
	struct two_session s = {.ends = e};
	unsigned long before = alloc_asked();
	bool reached;

	alloc_fail_nth(n);
	if (two_session_try(&s, e, &c) == 0) {
		two_ends_until(e, is_over, &s);
		if (!s.ended)
			io_try(&s, data);
	}
	reached = alloc_asked() - before >= n;
	alloc_fail_nth(0);
	if (s.session)
		two_session_end(&s);
	return reached;
}

static void every_allocation_fails_once(const struct two_ends_config *config)
{
	struct two_ends *e = two_ends_new(config);
	uint8_t *data = calloc(BLOCKS, BLOCK);
	struct ini_session_config c = configuration(e);
	struct two_session s;
	struct two_task t;
	unsigned long n = 1;

	assert_non_null(data);
	while (attempt(e, n, data) && n < 500)
		n++;
	assert_true(n > 10 && n < 500);
	two_session_login(&s, e, &c);
	assert_int_equal(s.logged_in, 1);
	two_task_write(&t, 0, 0, BLOCKS, data, NULL);
	two_task_run(&s, &t);
	two_session_end(&s);
	two_ends_free(e);
	free(data);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(every_allocation_fails_once),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}
